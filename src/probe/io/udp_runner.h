// Carries out experiments over one UDP socket. All times are CLOCK_REALTIME's, because the kernel
// stamps arrivals with it. So a packet's time of arrival does not depend on when the process runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/experiment.h"
#include "probe/header.h"
#include "probe/rank.h"
#include "transport/io/address.h"
#include "transport/io/udp_socket.h"

namespace alm::probe::io {

class UdpRunner {
 public:
  // `local_address` is numeric IPv4 or IPv6; empty: that of the default route.
  static base::Result<std::unique_ptr<UdpRunner>> open(const std::string& local_address,
                                                       const Secret& secret);

  const alm::io::Address& local() const { return socket_.local(); }
  // The largest datagram that fits one packet on the interface.
  std::uint32_t datagram_bytes() const { return datagram_bytes_; }
  std::vector<std::string> warnings() const { return socket_.warnings(); }

  // The addresses of all ranks, in their order.
  void set_peers(std::vector<alm::io::Address> peers) { peers_ = std::move(peers); }

  // Carries out this rank's part from `begin` to `begin` + duration, and returns at the end of that
  // time even if the rank has nothing to do. Only packets of the experiment are answered, and only
  // meanwhile.
  base::Result<Log> run(const Experiment& experiment, std::uint32_t self, Nanos begin);

 private:
  UdpRunner(alm::io::UdpSocket socket, const Secret& secret, std::uint32_t datagram_bytes);

  struct RunState;
  bool receive(RunState& state);
  void note_departures(RunState& state);
  std::int64_t give_stamped(const Outgoing& outgoing);
  bool send(const Experiment& experiment, RunState& state);
  void sleep(Nanos until, bool for_writing) const;

  alm::io::UdpSocket socket_;
  Secret secret_;
  std::uint32_t datagram_bytes_;
  std::vector<alm::io::Address> peers_;
  std::vector<std::byte> out_, in_;
  std::uint32_t overflow_seen_ = 0;
  bool stamps_departures_ = false;  // the kernel stamps departures
};

Nanos realtime_now();

}  // namespace alm::probe::io
