#include "harness/message_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "wire/header.h"

namespace alm::harness {

using sim::kNone;
using sim::Picos;

namespace {

constexpr Picos kAfterTheLast = sim::kNever - 1;  // Visit::starts_at

base::Status check_lossless(const topology::Cluster& cluster, std::string_view what) {
  for (const topology::Switch& node : cluster.switches) {
    if (node.flow_control == topology::FlowControl::kBackPressure) continue;
    return base::bad_input(
        fmt::format("switch `{}` drops what it cannot hold, and {} are not sent again; "
                    "expected flow_control = \"back-pressure\" on all switches",
                    node.name, what));
  }
  return {};
}

}  // namespace

base::Status MessageProgram::set_up(const SimRequest& request, std::string_view what) {
  if (auto checked = check_lossless(*request.cluster, what); !checked) return checked.error();
  if (auto made = set_up_ranks(request, what); !made) return made.error();
  packet_bytes_ = request.config(0).datagram_bytes - wire::kHeaderBytes;
  overhead_bytes_ = wire::kHeaderBytes + request.overhead_bytes;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    auto plan = request.plan(rank);
    if (!plan) return plan.error();
    if (plan.value().phases.size() != 1 || !plan.value().phases.front().direct()) {
      return base::bad_input(fmt::format("over {} only plans of one phase are simulated", what));
    }
    plans_.push_back(std::move(plan).value());
  }
  return {};
}

base::Status MessageProgram::set_up_ranks(const SimRequest& request, std::string_view what) {
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  bytes_ = request.bytes;
  bytes_of_ = request.bytes_of;
  bytes_in_ = request.bytes_in;
  stages_ = request.stages;
  together_ = request.together;
  rule_ = request.network.rule;
  exchanges_ = request.exchanges;
  jitter_ = request.jitter;
  random_ = sim::Random(request.jitter.seed);
  exchange_end_.assign(request.exchanges, 0);
  rank_on_.assign(request.cluster->host_count(), kNone);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::uint32_t host = request.hosts[rank].value;
    if (rank_on_[host] != kNone) {
      return base::bad_input(fmt::format("over {} every host has one rank", what));
    }
    rank_on_[host] = rank;
    host_of_.push_back(host);
    visits_.push_back({.starts_at = late()});
  }
  return {};
}

std::uint64_t MessageProgram::amount(std::uint32_t exchange, std::uint32_t from,
                                     std::uint32_t to) const {
  if (bytes_in_) return bytes_in_(exchange % stages_, from, to);
  return bytes_of_ ? bytes_of_(from, to) : bytes_;
}

Picos MessageProgram::late() { return jitter_.mean > 0 ? random_.exponential(jitter_.mean) : 0; }

void MessageProgram::begin_visit(std::uint32_t rank) {
  visits_[rank].starts_at = sim::kNever;
  ++visits_[rank].entered;
}

void MessageProgram::end_visit(std::uint32_t rank, Picos now) {
  Visit& self = visits_[rank];
  self.ended = now;
  Picos& end = exchange_end_[self.entered - 1];
  end = std::max(end, now);
  self.starts_at = kAfterTheLast;
  if (self.entered == exchanges_) {
    ++ranks_done_;
    return;
  }
  if (!together_) {
    self.starts_at = now + late();
    return;
  }
  if (++ended_ < visits_.size()) return;
  ended_ = 0;
  for (Visit& one : visits_) one.starts_at = now + late();
  wake_all();
}

void MessageProgram::address(sim::Packet& packet, std::uint32_t from, std::uint32_t to,
                             std::uint32_t number, std::uint32_t payload) const {
  packet.destination = host_of_[to];
  packet.flow = routing::label(rule_, host_of_[from], packet.destination, number);
  packet.bytes = payload + overhead_bytes_;
}

Picos MessageProgram::deadline(std::uint32_t host) const {
  const std::uint32_t rank = rank_on_[host];
  if (rank == kNone || visits_[rank].starts_at == kAfterTheLast) return sim::kNever;
  return visits_[rank].starts_at;
}

double MessageProgram::progress() const {
  if (messages_expected_ == 0) return 1;
  return static_cast<double>(messages_came_) / static_cast<double>(messages_expected_);
}

void MessageProgram::fill_times(SimResult& result) const {
  std::adjacent_difference(exchange_end_.begin(), exchange_end_.end(),
                           std::back_inserter(result.exchange_time));
  for (const Visit& visit : visits_) result.rank_end.push_back(visit.ended);
}

}  // namespace alm::harness
