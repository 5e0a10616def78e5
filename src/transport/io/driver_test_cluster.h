// For tests: several drivers in one process, and what a rank exchanges through one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/io/driver.h"

namespace alm::io {

using transport::Exchange;
using transport::PeerId;

inline std::unique_ptr<Endpoint> open_endpoint(bool gso = true, std::uint32_t sockets = 1) {
  EndpointOptions options;
  options.local_address = "127.0.0.1";
  options.mtu_bytes = 1500;
  options.grain_packets = 4;
  options.paths = sockets;
  options.allow_gso = gso;
  auto endpoint = Endpoint::open(options);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  return std::move(endpoint).value();
}

// `ranks` drivers in this process, each with `sets` communicators of all of them.
class Cluster {
 public:
  explicit Cluster(std::uint32_t ranks, std::size_t sets = 1, const transport::Config& config = {},
                   bool responder = true,
                   const std::map<std::size_t, transport::Config>& of_set = {}, bool family = false,
                   double time_scale = 1) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      drivers_.push_back(Driver::create(open_endpoint(rank % 2 == 0, sockets_for(config.paths)),
                                        responder, time_scale)
                             .value());
    }
    for (std::size_t s = 0; s < sets; ++s) {
      std::vector<std::uint16_t> numbers;
      for (auto& driver : drivers_) {
        if (numbers.size() % 2 == 1) driver->reserve_set();  // numbers differ between ranks
        numbers.push_back(driver->reserve_set());
      }
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        PeerSet peers;
        peers.identity = {{0x1234 + s, 0x5678}, rank, numbers[rank], numbers};
        peers.config = of_set.contains(s) ? of_set.at(s) : config;
        peers.config.grain_packets = 4;
        if (family) peers.family = s == 0 ? numbers[rank] : numbers_[0][rank];
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
          auto& addresses = peers.addresses.emplace_back();
          const Endpoint& endpoint = drivers_[peer]->endpoint();
          for (std::uint32_t i = 0; i < endpoint.paths(); ++i) {
            addresses.push_back(endpoint.local(i));
          }
          peers.names.push_back("rank " + std::to_string(peer) + " on h0" + std::to_string(peer));
        }
        drivers_[rank]->add_set(numbers[rank], std::move(peers));
      }
      numbers_.push_back(std::move(numbers));
    }
  }

  Driver& driver(std::uint32_t rank) { return *drivers_[rank]; }
  std::uint16_t set(std::uint32_t rank, std::size_t s = 0) const { return numbers_[s][rank]; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(drivers_.size()); }
  void destroy(std::uint32_t rank) { drivers_[rank].reset(); }

 private:
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<std::vector<std::uint16_t>> numbers_;
};

// One rank's side of a uniform exchange in one round; fills and checks the bytes.
class Side {
 public:
  Side(Cluster& cluster, std::uint32_t rank, std::uint64_t bytes, std::size_t s = 0)
      : cluster_(cluster), rank_(rank), bytes_(bytes), set_index_(s) {
    for (PeerId i = 1; i < cluster.ranks(); ++i) {
      rounds_.send.push_back((rank + i) % cluster.ranks());
      rounds_.recv.push_back((rank + cluster.ranks() - i) % cluster.ranks());
    }
    rounds_.send_begin = rounds_.recv_begin = {0, static_cast<std::uint32_t>(rounds_.send.size())};
    out_.resize(bytes * cluster.ranks());
    in_.resize(bytes * cluster.ranks());
  }

  base::Status run(unsigned iteration, const Driver::Progress& progress = {},
                   const Driver::Warn& warn = {}, base::Nanos deadline = base::kNever) {
    return cluster_.driver(rank_).run(set(), fill_all(iteration), progress, warn, deadline);
  }

  base::Status start(unsigned iteration) {
    return cluster_.driver(rank_).start(set(), fill_all(iteration));
  }
  // All blocks follow; arrivals are reported.
  base::Status start_withheld() {
    const std::vector<std::uint8_t> withheld(cluster_.ranks(), 1);
    std::fill(out_.begin(), out_.end(), std::byte{0x77});
    Exchange exchange = blocks();
    exchange.withheld = withheld;
    exchange.reports_arrivals = true;
    return cluster_.driver(rank_).start(set(), exchange);
  }
  void make_ready(PeerId peer, unsigned iteration) {
    fill(out_.data() + peer * bytes_, rank_, peer, iteration);
    cluster_.driver(rank_).make_ready(set(), peer);
  }
  std::uint16_t set() const { return cluster_.set(rank_, set_index_); }

  bool check(unsigned iteration) const {
    std::vector<std::byte> expected(bytes_);
    for (PeerId peer = 0; peer < cluster_.ranks(); ++peer) {
      if (peer == rank_) continue;
      fill(expected.data(), peer, rank_, iteration);
      if (!std::equal(expected.begin(), expected.end(),
                      in_.begin() + static_cast<std::ptrdiff_t>(peer * bytes_))) {
        return false;
      }
    }
    return true;
  }

 private:
  Exchange blocks() {
    std::fill(in_.begin(), in_.end(), std::byte{0xEE});
    Exchange exchange;
    exchange.rounds = &rounds_;
    exchange.send = {out_.data(), bytes_, bytes_, {}, {}};
    exchange.recv = {in_.data(), bytes_, bytes_, {}, {}};
    return exchange;
  }
  Exchange fill_all(unsigned iteration) {
    for (PeerId peer = 0; peer < cluster_.ranks(); ++peer)
      fill(out_.data() + peer * bytes_, rank_, peer, iteration);
    return blocks();
  }
  void fill(std::byte* at, PeerId from, PeerId to, unsigned iteration) const {
    std::uint32_t value =
        from * 7919 + to * 104'729 + iteration * 1'299'709 + static_cast<std::uint32_t>(set_index_);
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      value = value * 1'664'525 + 1'013'904'223;
      at[i] = static_cast<std::byte>(value >> 24);
    }
  }

  Cluster& cluster_;
  std::uint32_t rank_;
  std::uint64_t bytes_;
  std::size_t set_index_;
  transport::Rounds rounds_;
  std::vector<std::byte> out_, in_;
};

inline void run_all(Cluster& cluster, std::uint64_t bytes, unsigned iterations,
                    std::size_t sets = 1) {
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < cluster.ranks(); ++rank) {
    for (std::size_t s = 0; s < sets; ++s) {
      threads.emplace_back([&cluster, rank, bytes, iterations, s] {
        Side side(cluster, rank, bytes, s);
        for (unsigned i = 0; i < iterations; ++i) {
          const base::Status status = side.run(
              i, [] {}, {}, monotonic_now() + 60 * base::kSecond);
          ASSERT_TRUE(status.ok()) << status.error().message;
          ASSERT_TRUE(side.check(i)) << "rank " << rank << " set " << s << " iteration " << i;
        }
      });
    }
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace alm::io
