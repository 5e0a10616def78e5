#include "probe/rank.h"

#include <algorithm>

namespace alm::probe {

Rank::Rank(const Experiment& experiment, std::uint32_t self)
    : experiment_(experiment), self_(self) {
  for (std::uint32_t i = 0; i < experiment.flows.size(); ++i) {
    const Flow& flow = experiment.flows[i];
    if (flow.from == self && flow.packets > 0) sendings_.push_back({i, 0, flow.start, 0});
  }
  for (const Watch& watch : experiment.watches) {
    if (watch.rank == self) watches_.push_back(watch);
  }
}

std::optional<Outgoing> Rank::next(Nanos now) {
  if (!watches_.empty()) look_at_clock(now);
  if (!answers_.empty()) {
    const Header& header = answers_.front();
    chosen_ = sendings_.size();
    const Flow& flow = experiment_.flows[header.flow];
    return Outgoing{flow.from, flow.bytes, header};
  }
  const Sending* earliest = nullptr;
  for (const Sending& one : sendings_) {
    if (ended(one) || one.due > now) continue;
    if (earliest == nullptr || one.due < earliest->due) earliest = &one;
  }
  chosen_.reset();
  if (earliest == nullptr) return std::nullopt;
  chosen_ = static_cast<std::size_t>(earliest - sendings_.data());
  const Flow& flow = flow_of(*earliest);
  return Outgoing{
      flow.to, flow.bytes,
      Header{.experiment = experiment_.number, .flow = earliest->flow, .number = earliest->number}};
}

void Rank::sent(Nanos at, Nanos until) {
  if (!chosen_) return;
  if (*chosen_ == sendings_.size()) {
    answers_.pop_front();
    chosen_.reset();
    return;
  }
  Sending& one = sendings_[*chosen_];
  chosen_.reset();
  const Flow& flow = flow_of(one);
  const bool gave_up = flow.kind == FlowKind::kEcho && one.number - one.answered >= flow.train;
  if (gave_up) one.answered = one.number;
  log_.sent.push_back({.flow = one.flow, .number = one.number, .at = at, .until = until});
  ++one.number;
  if (flow.kind == FlowKind::kEcho) {
    if (one.number - one.answered >= flow.train) one.due = at + flow.interval;
  } else if (flow.interval == 0) {
    one.due += 1;  // the turn of the others
  } else if (one.number % flow.train == 0) {
    one.due = flow.start + flow.interval * (one.number / flow.train);
  }
}

void Rank::left(const Header& header, Nanos at) {
  if (header.experiment != experiment_.number || header.answer) return;
  // It was among the last.
  const auto sent = std::find_if(log_.sent.rbegin(), log_.sent.rend(), [&](const Sent& one) {
    return one.flow == header.flow && one.number == header.number;
  });
  if (sent == log_.sent.rend()) return;
  sent->left = sent->left < 0 ? at : std::min(sent->left, at);
}

void Rank::received(const Header& header, Nanos at, Nanos seen) {
  if (header.experiment != experiment_.number || header.flow >= experiment_.flows.size()) return;
  const Flow& flow = experiment_.flows[header.flow];
  if (self_ != (header.answer ? flow.from : flow.to) || header.number >= flow.packets) return;
  if (at > experiment_.duration) return;
  log_.received.push_back({header.flow, header.number, header.sent, at, seen, header.answer});
  if (flow.kind != FlowKind::kEcho) return;
  if (!header.answer) {
    answers_.push_back(header);
    answers_.back().answer = true;
    return;
  }
  for (Sending& one : sendings_) {
    if (one.flow != header.flow) continue;
    // One of those that were given up may still come.
    if (header.number < one.answered) continue;
    ++one.answered;
    one.due = std::min(one.due, seen);
  }
}

Nanos Rank::deadline() const {
  if (!answers_.empty()) return 0;
  Nanos earliest = base::kNever;
  for (const Sending& one : sendings_) {
    if (!ended(one)) earliest = std::min(earliest, one.due);
  }
  for (const Watch& watch : watches_) {
    const Nanos look = std::max(watch.start, looked_ < 0 ? watch.start : looked_ + watch.interval);
    if (look <= watch.end) earliest = std::min(earliest, look);
  }
  return earliest;
}

// Every look that was due is noted: undisturbed, the one before is as long ago as the interval.
void Rank::look_at_clock(Nanos now) {
  for (const Watch& watch : watches_) {
    if (now < watch.start || now > watch.end + watch.interval) continue;
    if (looked_ >= 0 && now - looked_ < watch.interval) return;
    if (looked_ >= 0) log_.stalls.push_back({now, now - looked_});
    looked_ = now;
    return;
  }
}

}  // namespace alm::probe
