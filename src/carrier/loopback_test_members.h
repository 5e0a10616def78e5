// For tests: the members of a group in this process, each with a socket on loopback, and on a
// thread of its own while they exchange.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "carrier/udp_group.h"
#include "transport/io/driver.h"

namespace alm::carrier {

struct LoopbackMembers {
  explicit LoopbackMembers(std::uint32_t members) {
    for (std::uint32_t i = 0; i < members; ++i) {
      io::EndpointOptions options;
      options.local_address = "127.0.0.1";
      options.mtu_bytes = 1500;
      drivers.push_back(io::Driver::create(io::Endpoint::open(options).value()).value());
      sets.push_back(drivers.back()->reserve_set());
    }
  }

  // Of one member: all of them.
  io::PeerSet peers_of(std::uint32_t self) const {
    io::PeerSet peers;
    peers.identity = {{1, 2}, self, sets[self], sets};
    peers.config.datagram_bytes = 1472;
    for (const auto& driver : drivers) {
      peers.addresses.push_back({driver->endpoint().local()});
      peers.names.push_back("rank " + std::to_string(peers.names.size()));
    }
    return peers;
  }

  // `body` of every member.
  template <class Body>
  void on_all(const Body& body) const {
    std::vector<std::thread> threads;
    for (std::uint32_t self = 0; self < drivers.size(); ++self) {
      threads.emplace_back([&body, self] { body(self); });
    }
    for (auto& thread : threads) thread.join();
  }

  std::vector<std::unique_ptr<io::Driver>> drivers;  // [member]
  std::vector<std::uint16_t> sets;                   // [member]
};

}  // namespace alm::carrier
