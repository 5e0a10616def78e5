// The ranks of a simulated exchange: an engine per host, and where each packet's header is.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "harness/simulation.h"

namespace alm::harness {

class Ranks final : public sim::Program {
 public:
  // Precondition: request.hosts names every rank's host.
  static base::Result<std::unique_ptr<Ranks>> make(const SimRequest& request);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t host, sim::Picos now) override;
  sim::Picos deadline(std::uint32_t host) const override;
  bool done() const override { return ranks_done_ == ranks_.size() || failure_.has_value(); }

  double progress() const;
  const std::optional<transport::PeerFailure>& failure() const { return failure_; }
  std::uint32_t failed_rank() const { return failed_rank_; }
  void fill(SimResult& result) const;
  std::size_t bytes() const;

 private:
  struct Held {
    transport::PeerId peer;
    std::uint32_t packet;
    std::uint32_t length;
  };
  struct Rank {
    Rank(const transport::Config& config, std::uint32_t self, std::uint32_t ranks)
        : engine(config, self, ranks) {}
    transport::Engine engine;
    base::Rounds rounds;
    std::vector<std::uint64_t> send_bytes, recv_bytes;  // empty: uniform
    std::vector<Held> held;
    std::uint32_t entered = 0;  // exchanges started
    sim::Picos starts_at = 0;   // the next one; kNever while one runs
    sim::Picos ended = 0;
  };
  // What the simulator does not look at. By packet index.
  struct Cargo {
    wire::Header header;
    std::uint32_t length = 0;
    std::uint8_t control_bytes = 0;
  };
  using Control = std::array<std::byte, wire::kAckBytesMax>;

  Ranks() = default;
  void enter(std::uint32_t rank, sim::Picos now);
  void finish(std::uint32_t rank, sim::Picos now);
  sim::Picos late();

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> rank_of_;  // by host; kNone: takes no part
  std::vector<std::uint32_t> host_of_;  // by rank
  std::vector<Cargo> cargo_;
  std::vector<Control> control_;
  transport::Emission emission_;
  std::uint64_t bytes_ = 0;
  std::uint32_t overhead_bytes_ = 0;
  std::uint32_t exchanges_ = 0;
  std::uint64_t data_expected_ = 0;
  std::uint64_t packets_ = 0, resent_ = 0;
  bool source_routes_ = false;
  std::uint32_t ranks_done_ = 0;
  StartJitter jitter_;
  sim::Random random_{0};
  std::vector<sim::Picos> exchange_end_;  // last rank's, by exchange
  std::optional<transport::PeerFailure> failure_;
  std::uint32_t failed_rank_ = 0;
};

}  // namespace alm::harness
