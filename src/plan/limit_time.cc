#include "plan/limit_time.h"

namespace alm::plan {

double limit_time_us(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                     std::uint32_t datagram_bytes) {
  if (hosts.size() < 2) return 0;
  constexpr double kMicros = 1e6;
  return topology::alltoall_limit_seconds(cluster, hosts, datagram_bytes) * kMicros /
         static_cast<double>(hosts.size() - 1);
}

}  // namespace alm::plan
