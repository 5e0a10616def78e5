#include "sim/flow_free.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace alm::sim {
namespace {

// Flows that would end together in exact arithmetic must not end one by one.
constexpr double kSame = 1e-9;
constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kEventsPerAnswer = 64;

}  // namespace

FreeRounds::FreeRounds(const topology::Cluster& cluster, const routing::Routes& routes,
                       const FlowRequest& request, FlowResult& result)
    : routes_(routes),
      request_(request),
      result_(result),
      resources_(cluster),
      shares_({resources_.capacity().begin(), resources_.capacity().end()}),
      port_bytes_(resources_.ports(), 0),
      ranks_(ranks()),
      round_of_(ranks() * ranks(), 0) {
  result_.rank_seconds.assign(ranks(), 0);
}

void FreeRounds::load_receives() {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    ranks_[rank].unreceived.assign(request_.rounds, 0);
    for (std::uint32_t round = 0; round < request_.rounds; ++round) {
      for (const base::Rank peer : request_.receives({rank}, round)) {
        round_of(rank, peer.value) = round;
        ++ranks_[rank].unreceived[round];
      }
    }
  }
}

void FreeRounds::start_round(std::uint32_t rank) {
  Progress& progress = ranks_[rank];
  for (const base::Rank peer : request_.sends({rank}, progress.round)) {
    Flow flow;
    flow.from = rank;
    flow.to = peer.value;
    flow.left = static_cast<double>(request_.wire_bytes);
    const std::uint32_t from = request_.participants[rank].value;
    const std::uint32_t to = request_.participants[peer.value].value;
    const auto path = routes_.path(from, to, routing::label(request_.routing, from, to, 0));
    for (const std::uint32_t port : path) port_bytes_[port] += flow.left;
    flow.latency_s = resources_.latency_s(path, request_.packet_wire_bytes) + request_.overhead_s;
    resources_.uses(path, flow.uses);
    active_.push_back(std::move(flow));
    ++progress.unsent;
    ++result_.flows;
  }
}

// Into the next round, and through those in which there is nothing left to do.
void FreeRounds::advance(std::uint32_t rank) {
  Progress& progress = ranks_[rank];
  while (progress.round < request_.rounds && progress.unsent == 0 &&
         progress.unreceived[progress.round] == 0) {
    result_.rank_seconds[rank] = now_;
    if (++progress.round == request_.rounds) return;
    start_round(rank);
  }
}

void FreeRounds::fill() {
  classes_.clear();
  for (const Flow& flow : active_) classes_.add(flow.uses, 1);
  shares_.fill(classes_, rate_);
  ++result_.fillings;
}

double FreeRounds::next_end() const {
  double end = kNoEnd;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    end = std::min(end, now_ + active_[i].left / rate_[i]);
  }
  return end;
}

void FreeRounds::flow_until(double time) {
  const double nothing = kSame * static_cast<double>(request_.wire_bytes);
  const double passed = time - now_;
  now_ = time;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    Flow& flow = active_[i];
    flow.left -= rate_[i] * passed;
    if (flow.left <= nothing) {
      arrivals_.push({now_ + flow.latency_s, sequence_++, flow.from, flow.to});
      --ranks_[flow.from].unsent;
      continue;
    }
    if (kept != i) std::swap(active_[kept], flow);
    ++kept;
  }
  active_.resize(kept);
}

bool FreeRounds::run() {
  load_receives();
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    start_round(rank);
    advance(rank);
  }
  const auto total = static_cast<double>(ranks() * (ranks() - 1));
  for (std::uint64_t event = 0; !active_.empty() || !arrivals_.empty(); ++event) {
    if (event % kEventsPerAnswer == 0 && request_.progress &&
        !request_.progress(static_cast<double>(result_.flows) / total)) {
      return false;
    }
    fill();
    const double end = next_end();
    const double arrival = arrivals_.empty() ? kNoEnd : arrivals_.top().time;
    flow_until(std::min(end, arrival));
    while (!arrivals_.empty() && arrivals_.top().time <= now_ * (1 + kSame)) {
      const Arrival top = arrivals_.top();
      arrivals_.pop();
      --ranks_[top.to].unreceived[round_of(top.to, top.from)];
    }
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) advance(rank);
  }
  result_.seconds = *std::max_element(result_.rank_seconds.begin(), result_.rank_seconds.end());
  return true;
}

}  // namespace alm::sim
