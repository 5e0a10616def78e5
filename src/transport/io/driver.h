// Couples channels with one endpoint: runs exchanges from the calling thread, and answers late
// peers from a responder thread in between. The responder never calls MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::io {

struct PeerSet {
  transport::Identity identity;
  transport::Config config;
  std::vector<std::vector<Address>> addresses;  // [peer][path]
  std::vector<std::string> host_names;          // [peer], for messages
};

class Driver {
 public:
  // Takes the endpoint; `responder` starts the thread (signals blocked, inert after fork).
  static base::Result<std::unique_ptr<Driver>> create(std::unique_ptr<Endpoint> endpoint,
                                                      bool responder = true);
  ~Driver();  // stops the thread; the sockets close

  // Reserves a set number peers will address us by; then, once keys and addresses are known,
  // add_set.
  std::uint16_t reserve_set();
  void add_set(std::uint16_t set, PeerSet peers);
  void remove_set(
      std::uint16_t set);  // a dead communicator: its peers' probes are answered with bye

  // Runs one exchange to completion from the calling thread. `progress` is called, holding no lock,
  // at least every millisecond while waiting (the interposer's PMPI_Test); `deadline` bounds the
  // whole. Several threads may run exchanges of different sets at once. kPeerLost names the host;
  // kTimeout is the deadline. Silence warnings go to `warn`.
  using Progress = std::function<void()>;
  using Warn = std::function<void(const std::string&)>;
  base::Status run(std::uint16_t set, const transport::Exchange& exchange, const Progress& progress,
                   const Warn& warn, base::Nanos deadline = base::kNever);

  // Until every set is settled or the time is over; the last act before the sockets close.
  bool settle(base::Nanos deadline, const Progress& progress);

  transport::Counters counters(std::uint16_t set) const;
  EndpointCounters endpoint_counters() const;
  const Endpoint& endpoint() const;

 private:
  Driver();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace alm::io
