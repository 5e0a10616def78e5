// For tests: a rank of a communicator whose hosts have several, on loopback with one port per host.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carrier/node_exchange.h"
#include "carrier/udp_group.h"
#include "node/node_test_processes.h"
#include "plan/combining.h"
#include "transport/io/driver.h"

namespace alm::carrier {

inline std::byte pattern(std::uint64_t from, std::uint64_t to, std::uint64_t at,
                         std::uint64_t call) {
  const std::uint64_t word = (from * 131 + to * 31 + at * 7 + call * 1009 + 1) * 0x9e3779b97f4a7c15;
  return static_cast<std::byte>(word >> 56);
}

// One rank: its host's memory and, if it leads, its group.
class RankOnHost {
 public:
  RankOnHost(const node::Processes& processes, std::uint32_t rank, std::uint64_t slab_bytes,
             std::uint32_t leaders = 1)
      : placement_(processes.placement()), rank_(rank), leaders_(leaders) {
    node::Node::Settings settings;
    settings.peer_warning = settings.peer_timeout = 60 * base::kSecond;
    settings.leaders_max = leaders;
    settings.loss = [this] { return group_ ? group_->loss() : std::nullopt; };
    auto node = processes.open_node(rank, std::move(settings), slab_bytes);
    if (placement_.local_rank[rank] < leaders) open_group(processes);
    processes.bootstrap().meet(3, placement_.rank_count());
    exchange_ =
        std::make_unique<NodeExchange>(std::move(node), placement_, rank, group_.get(), leaders);
  }

  NodeExchange& exchange() { return *exchange_; }
  const plan::Placement& placement() const { return placement_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t host() const { return placement_.host_of[rank_]; }
  // Null where the rank is no leader.
  UdpGroup* group() const { return group_.get(); }
  // The first plan that combines, if the leader has one.
  std::optional<std::size_t> first_phased() const {
    if (!group_ || combining_ == 0) return std::nullopt;
    return 0;
  }
  // Waits for all ranks: peers may still need what was sent last.
  void part(const node::Processes& processes) const {
    processes.bootstrap().meet(4, placement_.rank_count());
  }

  std::string equal_blocks(std::uint64_t bytes, std::uint64_t call, bool phased = false) {
    const std::uint32_t ranks = placement_.rank_count();
    std::vector<std::byte> send(ranks * bytes), recv(ranks * bytes + 64, std::byte{0xa5});
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint64_t i = 0; i < bytes; ++i) send[to * bytes + i] = pattern(rank_, to, i, call);
    }
    const auto done = exchange_->alltoall(
        send.data(), recv.data(), bytes,
        {.combining = phased ? first_phased() : std::nullopt, .shared = !phased && shares});
    if (!done) return done.error().message;
    for (std::uint32_t from = 0; from < ranks; ++from) {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        const std::byte wanted = from == rank_ ? std::byte{0xa5} : pattern(from, rank_, i, call);
        if (recv[from * bytes + i] != wanted) return "a wrong byte from " + std::to_string(from);
      }
    }
    return recv[ranks * bytes] == std::byte{0xa5} ? "" : "a byte too many";
  }

  bool shares = false;  // the calls to come, where there are several leaders

  // size(from, to) as sender and receiver know it.
  using Size = std::function<std::uint64_t(std::uint64_t from, std::uint64_t to)>;
  std::string any_blocks(const Size& sent, const Size& expected, std::uint64_t call) {
    const std::uint32_t ranks = placement_.rank_count();
    std::vector<std::uint64_t> send_size, recv_size, send_at, recv_at;
    std::uint64_t out = 0;
    std::uint64_t in = 0;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      send_at.push_back(out);
      recv_at.push_back(in);
      send_size.push_back(sent(rank_, peer));
      recv_size.push_back(expected(peer, rank_));
      out += send_size.back();
      in += recv_size.back();
    }
    std::vector<std::byte> send(out + 1), recv(in + 1, std::byte{0xa5});
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint64_t i = 0; i < send_size[to]; ++i) {
        send[send_at[to] + i] = pattern(rank_, to, i, call);
      }
    }
    const auto done = exchange_->alltoall_blocks({send.data(), 0, 0, send_at, send_size},
                                                 {recv.data(), 0, 0, recv_at, recv_size}, shares);
    if (!done) return done.error().message;
    for (std::uint32_t from = 0; from < ranks; ++from) {
      for (std::uint64_t i = 0; from != rank_ && i < recv_size[from]; ++i) {
        if (recv[recv_at[from] + i] != pattern(from, rank_, i, call)) {
          return "a wrong byte from " + std::to_string(from);
        }
      }
    }
    return recv[in] == std::byte{0xa5} ? "" : "a byte too many";
  }

 private:
  void open_group(const node::Processes& processes) {
    io::EndpointOptions options;
    options.local_address = "127.0.0.1";
    driver_ = io::Driver::create(io::Endpoint::open(options).value()).value();
    const std::uint32_t host = placement_.host_of[rank_];
    auto& entries = processes.bootstrap().entries;
    // All ranks number sets alike: that of the group, that of shared exchanges, those of the
    // phases.
    const std::uint16_t set = driver_->reserve_set();
    UdpGroup::Shared shared{leaders_, {}, {}};
    std::vector<std::vector<std::vector<std::uint16_t>>> phase_sets;
    std::vector<plan::Plan> combining;
    if (placement_.leads(rank_)) {
      shared.sets.assign(placement_.hosts(), driver_->reserve_set());
      combining = plan::combining_plans(placement_.hosts(), base::Rank{host}, {}, 1448);
    }
    combining_ = combining.size();
    for (const auto& one : combining) {
      auto& sets = phase_sets.emplace_back();
      for (std::size_t phase = 0; phase < one.phases.size(); ++phase) {
        sets.emplace_back(placement_.hosts(), driver_->reserve_set());
      }
    }
    std::vector<std::uint16_t> lanes;
    const std::uint32_t own = placement_.local_rank[rank_];
    for (std::uint32_t lane = 0; placement_.all_lead(leaders_) && lane < leaders_; ++lane) {
      lanes.push_back(driver_->reserve_set());
      entries[rank_].lanes[lane] = lanes.back();
    }
    entries[rank_].port = io::port_of(driver_->endpoint().local());
    processes.bootstrap().meet(2, placement_.hosts() * leaders_);
    io::PeerSet peers;
    peers.identity.key = {5, 6};
    peers.identity.self = host;
    peers.identity.local_set = set;
    for (std::uint32_t rank = 0; rank < placement_.rank_count(); ++rank) {
      peers.names.push_back("rank " + std::to_string(rank));
    }
    for (std::uint32_t peer = 0; peer < placement_.hosts(); ++peer) {
      const std::uint32_t leader = placement_.ranks[peer][placement_.local_rank[rank_]];
      peers.identity.remote_set.push_back(set);
      peers.addresses.push_back({io::make_address("127.0.0.1", entries[leader].port).value()});
      peers.numbers.push_back(placement_.rank_count() + peer);
      peers.names.push_back("host " + std::to_string(peer));
    }
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      io::PeerSet& of_lane = shared.lanes.emplace_back(peers);
      of_lane.identity.local_set = lanes[lane];
      for (std::uint32_t peer = 0; peer < placement_.hosts(); ++peer) {
        const auto& entry = entries[placement_.ranks[peer][(own + lane) % leaders_]];
        of_lane.identity.remote_set[peer] = entry.lanes[(leaders_ - lane) % leaders_];
        of_lane.addresses[peer] = {io::make_address("127.0.0.1", entry.port).value()};
      }
      of_lane.identity.remote_set[host] = lanes[lane];
    }
    const auto end_with_host = [this] {
      const auto lost = exchange_ ? exchange_->node().lost() : std::nullopt;
      if (lost) group_->give_up(*exchange_->node().failure(), *lost);
    };
    group_ = std::make_unique<UdpGroup>(
        *driver_, std::move(peers),
        plan::make_plan({.ranks = placement_.hosts(), .self = {host}}).value(),
        std::move(combining), phase_sets, std::move(shared), UdpGroup::Hooks{end_with_host, {}});
  }

  const plan::Placement& placement_;
  std::uint32_t rank_, leaders_;
  std::unique_ptr<io::Driver> driver_;
  std::unique_ptr<UdpGroup> group_;
  std::unique_ptr<NodeExchange> exchange_;
  std::size_t combining_ = 0;  // plans
};

using HostNames = std::vector<std::string_view>;
inline const std::vector<HostNames> kPlacements = {
    {"a", "a", "b", "b", "c", "c", "d", "d"},
    {"b", "a", "b", "c", "a", "b", "d", "b"},  // 4, 2, 1, 1, mixed
    {"a", "b", "b"},
};
constexpr std::uint64_t kSmall = 1;  // the least there may be: slabs of a few pages

}  // namespace alm::carrier
