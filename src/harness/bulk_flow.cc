#include "harness/bulk_flow.h"

#include <algorithm>

namespace alm::harness {

using sim::Picos;

namespace {

constexpr std::uint32_t kAckBytes = 66;
constexpr std::uint64_t kFirstWindow = 10;
constexpr std::uint64_t kReordering = 3;
constexpr std::uint64_t kBetaPercent = 70;
constexpr std::uint64_t kGrowthPercent = 53;  // 3 (1 - beta) / (1 + beta)
constexpr Picos kTimeoutMin = sim::kPicosPerSecond / 5;
constexpr Picos kTimeoutFirst = sim::kPicosPerSecond;
constexpr std::uint32_t kBackoffMax = 6;
constexpr std::uint64_t kPercent = 100;

}  // namespace

BulkFlows::BulkFlows(const std::vector<BulkFlow>& flows, std::uint32_t hosts,
                     std::uint32_t frame_bytes, routing::Rule rule)
    : ends_(hosts), frame_bytes_(frame_bytes), rule_(rule) {
  for (const BulkFlow& wanted : flows) {
    const auto number = static_cast<std::uint32_t>(flows_.size());
    Flow& flow = flows_.emplace_back();
    flow.wanted = wanted;
    flow.window = kFirstWindow * kUnit;
    flow.threshold = UINT64_MAX;
    ends_[wanted.from].push_back(number);
    ends_[wanted.to].push_back(number);
  }
}

std::uint32_t flow_label(routing::Rule rule, const BulkFlow& flow) {
  return routing::label(rule, flow.from, flow.to, 0);
}

bool BulkFlows::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
  for (const std::uint32_t number : ends_[host]) {
    Flow& flow = flows_[number];
    const auto [from, to, bit_s] = flow.wanted;
    if (host == to && !flow.to_acknowledge.empty()) {
      cargo_[index] = {number, true, flow.to_acknowledge.front()};
      flow.to_acknowledge.pop_front();
      packet.destination = from;
      packet.flow = flow_label(rule_, {to, from});
      packet.bytes = kAckBytes;
      packet.label = kLabelAck;
      return true;
    }
    if (host != from || !may_send(flow) || now < flow.next_at) continue;
    if (bit_s > 0)
      flow.next_at = std::max(now, flow.next_at) + sim::serialization(frame_bytes_, bit_s);
    if (flow.in_flight == 0) flow.quiet_since = now;
    if (flow.to_resend > 0) --flow.to_resend;
    cargo_[index] = {number, false, flow.next++};
    flow.outstanding.push_back({now, false});
    ++flow.in_flight;
    packet.destination = to;
    packet.flow = flow_label(rule_, flow.wanted);
    packet.bytes = frame_bytes_;
    packet.label = 0;
    return true;
  }
  return false;
}

void BulkFlows::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  const Cargo cargo = cargo_[index];
  Flow& flow = flows_[cargo.flow];
  if (cargo.ack) {
    on_ack(flow, now, cargo.number);
  } else {
    ++flow.result.packets;
    flow.to_acknowledge.push_back(cargo.number);
  }
}

void BulkFlows::on_ack(Flow& flow, Picos now, std::uint64_t number) {
  if (number < flow.first) return;  // taken for lost before
  Sent& sent = flow.outstanding[number - flow.first];
  if (sent.acked) return;
  sent.acked = true;
  --flow.in_flight;
  flow.quiet_since = now;
  flow.backoff = 0;
  measure(flow, now - sent.at);
  if (number >= flow.recover) {
    if (flow.window < flow.threshold) {
      flow.window += kUnit;
    } else {
      flow.window += kGrowthPercent * kUnit * kUnit / kPercent / flow.window;
    }
  }
  while (!flow.outstanding.empty() && flow.outstanding.front().acked) {
    flow.outstanding.pop_front();
    ++flow.first;
  }
  if (number >= kReordering) lose(flow, number - kReordering + 1);
}

void BulkFlows::measure(Flow& flow, Picos round_trip) {
  if (flow.srtt == 0) {
    flow.srtt = round_trip;
    flow.rttvar = round_trip / 2;
    return;
  }
  const Picos apart = flow.srtt > round_trip ? flow.srtt - round_trip : round_trip - flow.srtt;
  flow.rttvar += (apart - flow.rttvar) / 4;
  flow.srtt += (round_trip - flow.srtt) / 8;
}

// What was sent before this number and is not acknowledged.
void BulkFlows::lose(Flow& flow, std::uint64_t before) {
  bool cuts = false;
  while (!flow.outstanding.empty() && (flow.first < before || flow.outstanding.front().acked)) {
    if (!flow.outstanding.front().acked) {
      --flow.in_flight;
      ++flow.to_resend;
      ++flow.result.lost;
      cuts = cuts || flow.first >= flow.recover;
    }
    flow.outstanding.pop_front();
    ++flow.first;
  }
  if (cuts) cut(flow);
}

void BulkFlows::cut(Flow& flow) {
  flow.threshold = std::max(2 * kUnit, flow.window * kBetaPercent / kPercent);
  flow.window = flow.threshold;
  flow.recover = flow.next;
}

Picos BulkFlows::timeout_at(const Flow& flow) const {
  if (flow.in_flight == 0) return sim::kNever;
  const Picos measured =
      flow.srtt == 0 ? kTimeoutFirst : std::max(kTimeoutMin, flow.srtt + 4 * flow.rttvar);
  return flow.quiet_since + (measured << std::min(flow.backoff, kBackoffMax));
}

void BulkFlows::timer(std::uint32_t host, Picos now) {
  for (const std::uint32_t number : ends_[host]) {
    Flow& flow = flows_[number];
    if (host != flow.wanted.from || timeout_at(flow) > now) continue;
    lose(flow, flow.next);
    flow.window = kUnit;
    flow.quiet_since = now;
    ++flow.backoff;
    ++flow.result.timeouts;
  }
}

Picos BulkFlows::deadline(std::uint32_t host) const {
  Picos earliest = sim::kNever;
  for (const std::uint32_t number : ends_[host]) {
    const Flow& flow = flows_[number];
    if (host != flow.wanted.from) continue;
    earliest = std::min(earliest, timeout_at(flow));
    if (may_send(flow) && flow.wanted.bit_s > 0) earliest = std::min(earliest, flow.next_at);
  }
  return earliest;
}

std::vector<FlowResult> BulkFlows::results(Picos end) const {
  std::vector<FlowResult> out;
  for (const Flow& flow : flows_) {
    FlowResult result = flow.result;
    const double seconds = static_cast<double>(end) / static_cast<double>(sim::kPicosPerSecond);
    constexpr double kBitsPerByte = 8;
    if (seconds > 0) {
      result.bit_s = static_cast<double>(result.packets) * frame_bytes_ * kBitsPerByte / seconds;
    }
    out.push_back(result);
  }
  return out;
}

}  // namespace alm::harness
