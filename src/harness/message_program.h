// The base of programs that send messages (messages.h, striped_ranks.h, tcp_ranks.h): a rank on
// each host, the blocks of each exchange, and when ranks enter and end exchanges. Where nothing is
// sent twice, all switches must use back-pressure, and the plan is one phase of rounds.
#pragma once

#include <string_view>
#include <vector>

#include "harness/program.h"
#include "harness/simulation.h"

namespace alm::harness {

class MessageProgram : public Program {
 public:
  void timer(std::uint32_t, sim::Picos) override {}
  sim::Picos deadline(std::uint32_t host) const override;
  bool done() const override { return ranks_done_ == visits_.size(); }
  double progress() const override;

 protected:
  MessageProgram() = default;

  // `what` names the messages in errors: "over stripes ...". Errors are kBadInput: switches that
  // drop, two ranks on a host, plans of several phases.
  base::Status set_up(const SimRequest& request, std::string_view what);
  // The same on any switches and without plans, for programs that send again what is lost.
  base::Status set_up_ranks(const SimRequest& request, std::string_view what);
  const base::Rounds& rounds(std::uint32_t rank) const {
    return plans_[rank].phases.front().rounds;
  }

  // Bytes of a message in exchange number `exchange`, from 0.
  std::uint64_t amount(std::uint32_t exchange, std::uint32_t from, std::uint32_t to) const;
  // The number of the exchange that the rank is in. Precondition: it has entered one.
  std::uint32_t exchange_of(std::uint32_t rank) const { return visits_[rank].entered - 1; }

  bool is_inside(std::uint32_t rank) const { return visits_[rank].starts_at == sim::kNever; }
  bool is_due(std::uint32_t rank, sim::Picos now) const { return visits_[rank].starts_at <= now; }
  void begin_visit(std::uint32_t rank);
  void end_visit(std::uint32_t rank, sim::Picos now);

  // Fills in the times of the exchanges.
  void fill_times(SimResult& result) const;

  std::uint32_t rank_on(std::uint32_t host) const { return rank_on_[host]; }
  std::uint32_t host_of(std::uint32_t rank) const { return host_of_[rank]; }
  std::uint32_t packet_bytes() const { return packet_bytes_; }
  // Sets the packet's destination, flow and size. `number`: the path or message number, for routes
  // that look at it.
  void address(sim::Packet& packet, std::uint32_t from, std::uint32_t to, std::uint32_t number,
               std::uint32_t payload) const;
  routing::Rule rule() const { return rule_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(visits_.size()); }
  std::uint32_t exchanges() const { return exchanges_; }

  std::uint64_t messages_expected_ = 0, messages_came_ = 0;  // for progress()

 private:
  struct Visit {
    sim::Picos starts_at = 0;   // the next exchange; kNever while one runs
    std::uint32_t entered = 0;  // exchanges
    sim::Picos ended = 0;
  };

  sim::Picos late();

  std::vector<plan::Plan> plans_;       // by rank
  std::vector<Visit> visits_;           // by rank
  std::vector<std::uint32_t> host_of_;  // by rank
  std::vector<std::uint32_t> rank_on_;  // by host; kNone: it takes no part
  std::uint64_t bytes_ = 0;
  std::function<std::uint64_t(std::uint32_t, std::uint32_t)> bytes_of_;
  std::function<std::uint64_t(std::uint32_t, std::uint32_t, std::uint32_t)> bytes_in_;
  std::uint32_t stages_ = 1;
  std::uint32_t packet_bytes_ = 0, overhead_bytes_ = 0;
  routing::Rule rule_ = routing::Rule::kDModK;
  std::uint32_t exchanges_ = 0, ranks_done_ = 0;
  bool together_ = false;
  std::uint32_t ended_ = 0;  // with together_: ranks that have ended the current exchange
  StartJitter jitter_;
  sim::Random random_{0};
  std::vector<sim::Picos> exchange_end_;  // [exchange] when the last rank ended it
};

}  // namespace alm::harness
