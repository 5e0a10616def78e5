// The ranks of a simulated exchange: the course of each through its plan, an engine for each phase
// that crosses the network, and the header of each packet.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "execute/course.h"
#include "harness/program.h"
#include "harness/simulation.h"

namespace alm::harness {

class Ranks final : public Program {
 public:
  // Precondition: request.hosts has every rank's host. `goes_on`: ranks begin further exchanges
  // after request.exchanges of them.
  static base::Result<std::unique_ptr<Program>> make(const SimRequest& request,
                                                     bool goes_on = false);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t host, sim::Picos now) override;
  sim::Picos deadline(std::uint32_t host) const override;
  bool done() const override { return ranks_done_ == ranks_.size() || failure_.has_value(); }

  bool outgrows_cache() const override;
  void expect(std::uint32_t index, sim::Nearness nearness) const override;
  void expect_pull(std::uint32_t host) const override;

  double progress() const override;
  std::optional<Failure> failure() const override { return failure_; }
  void fill(SimResult& result) const override;
  std::size_t bytes() const override;

 private:
  struct Held {
    transport::PeerId peer;
    std::uint32_t packet;
    std::uint32_t length;
  };
  // One phase of one rank: it goes through an engine, or through the memory of the host.
  struct Part {
    std::unique_ptr<transport::Engine> engine;
    std::uint32_t rank = 0;
    bool running = false;
    // Of ranks that are told their rate:
    sim::Picos begun = 0;
    std::uint64_t at_once = 0;  // bytes that may leave at once
    std::vector<Held> held;     // data of the next exchange
    // For phases in memory: messages to send and to come, and those that came before the phase
    // began.
    std::uint32_t unsent = 0, missing = 0;
    std::vector<base::PeerId> early;
  };
  struct Rank {
    Rank(plan::Plan plan, std::uint32_t part)
        : first_part(part), course(std::move(plan)), parts(course.phases()) {
      // Paced phases go first, or they would never keep their pace.
      for (const bool far : {true, false}) {
        for (std::uint32_t i = 0; i < parts; ++i) {
          const bool is_far = course.plan().phases[i].reach == plan::Reach::kFar;
          if (is_far == far) order.push_back(first_part + i);
        }
      }
    }
    sim::Picos starts_at = 0;   // the next exchange; kNever while one runs
    std::uint32_t first_part;   // in parts_: that of its first phase
    std::uint32_t entered = 0;  // exchanges started
    bool inside = false;        // it has not ended the latest of them
    execute::Course course;
    std::size_t parts;                 // one for each phase
    std::vector<std::uint32_t> order;  // parts, in the order in which they may send
    std::vector<std::uint64_t> send_bytes, recv_bytes;  // by rank; empty: all the same
    sim::Picos ended = 0;
    std::optional<clocks::RateClaim> claim;  // of the host's link
  };
  // The part of a packet that the simulator does not see, by packet index. Two fit a cache line.
  struct alignas(32) Cargo {
    wire::Header header;
    std::uint32_t length = 0;
    std::uint32_t part = 0;  // in parts_: the receiver's
    std::uint8_t control_bytes = 0;
  };
  static_assert(sizeof(Cargo) == 32);
  using Control = std::array<std::byte, wire::kAckBytesMax>;
  // A message in the memory of a host that its receiver has not seen yet.
  struct Delivery {
    std::uint32_t rank = 0, part = 0;
    base::PeerId from = 0;
  };

  Ranks() = default;
  base::Status add(const SimRequest& request, std::uint32_t rank);
  base::Status check_hosts(const topology::Cluster& cluster) const;
  execute::Amounts amounts(const Rank& rank) const;
  void set_stage(std::uint32_t rank, std::uint32_t stage);
  void enter(std::uint32_t rank, sim::Picos now);
  void finish(std::uint32_t rank, sim::Picos now);
  bool start_phases(std::uint32_t rank, sim::Picos now);
  void start_on_network(Rank& self, std::size_t part, sim::Picos now);
  void start_in_memory(std::uint32_t rank, std::size_t part);
  void hand_over(std::uint32_t rank, std::size_t part, base::PeerId peer);
  void arrived(std::uint32_t rank, std::size_t part, base::PeerId peer);
  void hold_against(Rank& self, std::size_t part, sim::Picos now);
  bool complete_phases(Rank& self, sim::Picos now);
  bool has_come(const Rank& rank) const;
  bool advance(std::uint32_t rank, sim::Picos now);
  bool enter_when_due(std::uint32_t rank, sim::Picos now);
  bool pull_rank(std::uint32_t rank, sim::Picos now, std::uint32_t index, sim::Packet& packet);
  void load(std::uint32_t rank, std::uint32_t part, bool resent, std::uint32_t index,
            sim::Packet& packet);
  sim::Picos late();

  std::span<Part> parts_of(const Rank& rank) {
    return std::span(parts_).subspan(rank.first_part, rank.parts);
  }
  std::span<const Part> parts_of(const Rank& rank) const {
    return std::span(parts_).subspan(rank.first_part, rank.parts);
  }

  std::vector<Rank> ranks_;
  std::vector<Part> parts_;                           // by rank and phase
  std::vector<std::vector<std::uint32_t>> ranks_on_;  // by host
  std::vector<std::size_t> turn_;                     // by host: the rank that is pulled first
  std::vector<std::uint32_t> host_of_;                // by rank
  std::vector<Cargo> cargo_;
  std::vector<Control> control_;
  std::vector<Delivery> deliveries_;
  std::vector<execute::Course::Ready> ready_;
  transport::Emission emission_;
  std::vector<std::uint64_t> all_bytes_;  // [from * ranks + to], where blocks are forwarded
  std::function<std::uint64_t(std::uint32_t, std::uint32_t, std::uint32_t)> bytes_in_;  // by stage
  std::uint32_t stages_ = 1;
  bool together_ = false;
  std::uint32_t ended_ = 0;  // with together_: ranks that have ended the current exchange
  std::uint64_t bytes_ = 0;
  std::uint32_t overhead_bytes_ = 0;
  std::uint32_t exchanges_ = 0;
  bool goes_on_ = false;
  std::uint64_t data_expected_ = 0;
  std::uint64_t packets_ = 0;
  routing::Rule rule_ = routing::Rule::kDModK;
  std::uint32_t ranks_done_ = 0;
  StartJitter jitter_;
  sim::Random random_{0};
  std::vector<sim::Picos> exchange_end_;  // [exchange] when the last rank ended it
  std::optional<Failure> failure_;
};

}  // namespace alm::harness
