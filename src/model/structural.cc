#include "model/structural.h"

#include <algorithm>
#include <cmath>

namespace alm::model {
namespace {

double packets_of(double bytes, std::uint32_t packet_bytes) {
  return std::max(1.0, std::ceil(bytes / packet_bytes));
}

}  // namespace

Demand demand_of(const Course& course, const LinkBound& links, std::uint64_t bytes,
                 std::uint32_t packet_bytes) {
  Demand out;
  const auto block = static_cast<double>(bytes);
  for (const Phase& phase : course.phases) {
    out.rounds += static_cast<double>(phase.round_count());
    if (phase.complete) {
      const double seconds = links.complete_seconds(bytes);
      out.links_s += seconds;
      out.rounds_s += seconds;
      out.packets += (course.ranks - 1) * packets_of(block, packet_bytes);
      continue;
    }
    std::vector<Message> all;
    std::vector<double> sent(course.ranks, 0);
    for (const Round& round : phase.rounds) {
      out.rounds_s += links.seconds(round, bytes);
      all.insert(all.end(), round.messages.begin(), round.messages.end());
      for (const Message& one : round.messages) {
        sent[one.from] += packets_of(one.blocks * block, packet_bytes);
      }
    }
    out.links_s += links.seconds(all, bytes);
    if (!sent.empty()) out.packets += *std::max_element(sent.begin(), sent.end());
  }
  return out;
}

double structural_s(const Demand& demand, const HostCosts& costs) {
  const double start = costs.latency + costs.send + costs.receive;
  const double per_packet = std::max(costs.gap, costs.send + costs.receive);
  return demand.rounds * start + std::max(demand.rounds_s, demand.packets * per_packet);
}

}  // namespace alm::model
