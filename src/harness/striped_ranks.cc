#include "harness/striped_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "routing/routes.h"
#include "wire/header.h"

namespace alm::harness {

using sim::kNone;
using sim::Picos;

namespace {

constexpr std::uint32_t kNoticeBytes = 64;  // of payload
constexpr std::uint64_t kSmallPackets = 8;  // one stripe: it would give no estimate (004, 4.3.2)
constexpr double kWeightSlack = 1e-3;       // weights travel as 32-bit numbers

base::Status check_lossless(const topology::Cluster& cluster) {
  for (const topology::Switch& node : cluster.switches) {
    if (node.flow_control == topology::FlowControl::kBackPressure) continue;
    return base::bad_input(
        fmt::format("switch `{}` drops what it cannot hold, and stripes are not sent again; "
                    "expected flow_control = \"back-pressure\" on all switches",
                    node.name));
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<Program>> StripedRanks::make(const SimRequest& request) {
  if (auto checked = check_lossless(*request.cluster); !checked) return checked.error();
  const transport::Config config = request.config(0);
  if (auto checked = check_striping(config.path_rule); !checked) return checked.error();
  std::unique_ptr<StripedRanks> out(new StripedRanks);
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  out->flow_ = *request.striped;
  out->bytes_ = request.bytes;
  out->bytes_of_ = request.bytes_of;
  out->packet_bytes_ = config.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
  out->overhead_bytes_ = static_cast<std::uint32_t>(wire::kHeaderBytes) + request.overhead_bytes;
  out->rule_ = request.network.rule;
  out->exchanges_ = request.exchanges;
  out->jitter_ = request.jitter;
  out->random_ = sim::Random(request.jitter.seed);
  out->exchange_end_.assign(request.exchanges, 0);
  out->rank_on_.assign(request.cluster->host_count(), kNone);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::uint32_t host = request.hosts[rank].value;
    if (out->rank_on_[host] != kNone) {
      return base::bad_input("over stripes every host has one rank");
    }
    out->rank_on_[host] = rank;
    out->host_of_.push_back(host);
    auto plan = request.plan(rank);
    if (!plan) return plan.error();
    if (plan.value().phases.size() != 1 || !plan.value().phases.front().direct()) {
      return base::bad_input("over stripes only plans of one phase are simulated");
    }
    Rank& made = out->ranks_.emplace_back();
    made.plan = std::move(plan).value();
    made.with.resize(count);
    for (const base::PeerId peer : out->rounds(made).send) {
      auto& striping = made.with[peer].striping;
      if (striping) continue;
      striping = std::make_unique<Striping>(transport::PathSetup{
          config.path_rule, config.paths, config.path_batch, std::uint64_t{rank} * count + peer});
    }
    for (const base::PeerId peer : out->rounds(made).recv) {
      out->messages_expected_ += out->amount(peer, rank) > 0 ? request.exchanges : 0;
    }
    made.starts_at = out->late();
  }
  return std::unique_ptr<Program>(std::move(out));
}

std::uint64_t StripedRanks::amount(std::uint32_t from, std::uint32_t to) const {
  return bytes_of_ ? bytes_of_(from, to) : bytes_;
}

Picos StripedRanks::late() { return jitter_.mean > 0 ? random_.exponential(jitter_.mean) : 0; }

void StripedRanks::enter(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  self.starts_at = sim::kNever;
  ++self.entered;
  self.round = 0;
  begin_round(rank, now);
  end_rounds(rank, now);
}

void StripedRanks::begin_round(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  const base::Rounds& order = rounds(self);
  self.sends_left = self.receives_left = 0;
  if (self.round >= order.count()) return;
  for (std::uint32_t i = order.recv_begin[self.round]; i < order.recv_begin[self.round + 1]; ++i) {
    const base::PeerId from = order.recv[i];
    if (amount(from, rank) == 0) continue;
    ++self.receives_left;
    const std::uint32_t message = self.with[from].messages_posted++;
    self.with[from].receiving[message].posted = true;
    clear(rank, now, from, message);
  }
  for (std::uint32_t i = order.send_begin[self.round]; i < order.send_begin[self.round + 1]; ++i) {
    const base::PeerId to = order.send[i];
    const std::uint64_t bytes = amount(rank, to);
    if (bytes == 0) continue;
    ++self.sends_left;
    Connection& with = self.with[to];
    const std::uint32_t message = with.messages_sent++;
    Sending& sending = with.sending[message];
    sending.stripes = with.striping->cut(bytes, kSmallPackets * packet_bytes_);
    sending.posted.assign(sending.stripes.size(), 0);
    sending.times.assign(sending.stripes.size(), 0);
    double sum = 0;
    for (const Stripe& stripe : sending.stripes) sum += stripe.weight;
    post(rank, now,
         {.from = rank,
          .to = to,
          .message = message,
          .weight = static_cast<float>(sum),
          .kind = Kind::kStart},
         0);
  }
}

void StripedRanks::end_rounds(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  if (self.starts_at != sim::kNever) return;
  while (self.sends_left == 0 && self.receives_left == 0) {
    if (self.round < rounds(self).count()) ++self.round;
    if (self.round == rounds(self).count()) {
      self.ended = now;
      Picos& end = exchange_end_[self.entered - 1];
      end = std::max(end, now);
      const bool over = self.entered == exchanges_;
      if (over) ++ranks_done_;
      self.starts_at = over ? kOver : now + late();
      return;
    }
    begin_round(rank, now);
  }
}

void StripedRanks::post(std::uint32_t rank, Picos now, Notice notice, std::uint64_t bytes) {
  const bool is_notice = notice.kind != Kind::kData;
  if (is_notice) notice.sequence = ranks_[rank].with[notice.to].sequence++;
  ranks_[rank].processor.add(now, flow_.post, {notice, bytes, true});
}

// All that is done by now; what it gives rise to included.
void StripedRanks::work(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  while (self.processor.next() <= now) {
    const Task task = self.processor.take();
    if (task.posts) {
      give_to_card(self, now, task);
    } else {
      handle(rank, now, task.notice);
    }
  }
}

void StripedRanks::give_to_card(Rank& rank, Picos now, const Task& task) {
  const Notice& notice = task.notice;
  if (notice.kind == Kind::kData) {
    rank.with[notice.to].sending.at(notice.message).posted[notice.stripe] = now;
  }
  const std::uint32_t pair = notice.to * wire::kPathsMax + notice.path;
  auto& queue = rank.queue_pairs[pair];
  if (queue.empty()) rank.active.push_back(pair);
  queue.push_back({notice, task.bytes});
}

void StripedRanks::handle(std::uint32_t rank, Picos now, const Notice& notice) {
  Rank& self = ranks_[rank];
  if (notice.kind == Kind::kAck) {
    on_completion(self, now, notice);
    end_rounds(rank, now);
    return;
  }
  Connection& with = self.with[notice.from];
  if (notice.sequence != with.expected_sequence) {
    ++out_of_order_;
    with.out_of_order.emplace(notice.sequence, notice);
    return;
  }
  in_order(rank, now, notice);
  while (!with.out_of_order.empty() && with.out_of_order.begin()->first == with.expected_sequence) {
    const Notice next = with.out_of_order.begin()->second;
    with.out_of_order.erase(with.out_of_order.begin());
    in_order(rank, now, next);
  }
  end_rounds(rank, now);
}

void StripedRanks::in_order(std::uint32_t rank, Picos now, const Notice& notice) {
  Rank& self = ranks_[rank];
  Connection& with = self.with[notice.from];
  ++with.expected_sequence;
  switch (notice.kind) {
    case Kind::kStart: {
      Receiving& receiving = with.receiving[notice.message];
      receiving.started = true;
      receiving.expected = notice.weight;
      clear(rank, now, notice.from, notice.message);
      return;
    }
    case Kind::kClear:
      return on_clear(rank, now, notice);
    case Kind::kFinish:
      return on_finish(self, notice);
    case Kind::kData:
    case Kind::kLastData:
    case Kind::kAck:
      return;
  }
}

// Once both the receive is posted and the start has come.
void StripedRanks::clear(std::uint32_t rank, Picos now, std::uint32_t from, std::uint32_t message) {
  Receiving& receiving = ranks_[rank].with[from].receiving[message];
  if (!receiving.posted || !receiving.started || receiving.cleared) return;
  receiving.cleared = true;
  post(rank, now, {.from = rank, .to = from, .message = message, .kind = Kind::kClear}, 0);
}

void StripedRanks::on_clear(std::uint32_t rank, Picos now, const Notice& notice) {
  const Sending& sending = ranks_[rank].with[notice.from].sending.at(notice.message);
  for (std::size_t i = 0; i < sending.stripes.size(); ++i) {
    const Stripe& stripe = sending.stripes[i];
    Notice made{.from = rank,
                .to = notice.from,
                .message = notice.message,
                .weight = static_cast<float>(stripe.weight),
                .stripe = static_cast<std::uint8_t>(i),
                .path = stripe.path,
                .kind = Kind::kData};
    post(rank, now, made, stripe.bytes);
    made.kind = Kind::kFinish;
    post(rank, now, made, 0);
  }
}

void StripedRanks::on_finish(Rank& self, const Notice& notice) {
  auto& receiving = self.with[notice.from].receiving;
  Receiving& message = receiving.at(notice.message);
  message.sum += notice.weight;
  if (message.sum < message.expected * (1 - kWeightSlack)) return;
  receiving.erase(notice.message);
  --self.receives_left;
  ++messages_came_;
}

void StripedRanks::on_completion(Rank& self, Picos now, const Notice& notice) {
  Connection& with = self.with[notice.from];
  Sending& sending = with.sending.at(notice.message);
  sending.times[notice.stripe] = now - sending.posted[notice.stripe];
  if (++sending.complete < sending.stripes.size()) return;
  with.striping->completed(sending.stripes, sending.times);
  with.sending.erase(notice.message);
  --self.sends_left;
}

bool StripedRanks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const std::uint32_t rank = rank_on_[host];
  if (rank == kNone) return false;
  Rank& self = ranks_[rank];
  do {
    work(rank, now);
    if (self.starts_at > now) break;
    enter(rank, now);
  } while (true);
  if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
  Notice& cargo = cargo_[index];
  std::uint32_t payload = 0;
  if (!self.acks.empty()) {
    cargo = self.acks.front();
    self.acks.pop_front();
    ++acks_;
  } else if (!self.active.empty()) {
    const std::uint32_t pair = self.active.front();
    self.active.pop_front();
    auto& queue = self.queue_pairs[pair];
    Descriptor& descriptor = queue.front();
    cargo = descriptor.notice;
    if (cargo.kind == Kind::kData) {
      payload =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(packet_bytes_, descriptor.bytes));
      descriptor.bytes -= payload;
      if (descriptor.bytes == 0) cargo.kind = Kind::kLastData;
      ++counters_.data_sent;
      ++counters_.path_loads[cargo.path];
    } else {
      payload = kNoticeBytes;
    }
    if (descriptor.bytes == 0) queue.pop_front();
    if (!queue.empty()) self.active.push_back(pair);
  } else {
    return false;
  }
  packet.destination = host_of_[cargo.to];
  packet.flow = routing::label(rule_, host, packet.destination, cargo.path);
  packet.bytes = payload + overhead_bytes_;
  packet.label = cargo.kind == Kind::kAck ? kLabelAck : 0;
  ++packets_;
  return true;
}

void StripedRanks::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  const Notice notice = cargo_[index];
  Rank& self = ranks_[notice.to];
  switch (notice.kind) {
    case Kind::kData:
      ++counters_.data_received;
      return;
    case Kind::kLastData: {
      ++counters_.data_received;
      Notice ack = notice;
      std::swap(ack.from, ack.to);
      ack.kind = Kind::kAck;
      self.acks.push_back(ack);
      return;
    }
    case Kind::kStart:
    case Kind::kClear:
    case Kind::kFinish:
    case Kind::kAck:
      self.processor.add(now, flow_.handle, {notice, 0, false});
      work(notice.to, now);
      return;
  }
}

Picos StripedRanks::deadline(std::uint32_t host) const {
  const std::uint32_t rank = rank_on_[host];
  if (rank == kNone) return sim::kNever;
  const Rank& self = ranks_[rank];
  const Picos starts = self.starts_at == kOver ? sim::kNever : self.starts_at;
  return std::min(starts, self.processor.next());
}

double StripedRanks::progress() const {
  if (messages_expected_ == 0) return 1;
  return static_cast<double>(messages_came_) / static_cast<double>(messages_expected_);
}

void StripedRanks::fill(SimResult& result) const {
  std::adjacent_difference(exchange_end_.begin(), exchange_end_.end(),
                           std::back_inserter(result.exchange_time));
  for (const Rank& rank : ranks_) result.rank_end.push_back(rank.ended);
  result.packets = packets_;
  result.counters = counters_;
  result.counters.acks_sent = acks_;
  result.out_of_order = out_of_order_;
}

std::size_t StripedRanks::bytes() const {
  constexpr std::size_t kStripingBytes = 256;  // about, with its weights
  std::size_t sum = cargo_.capacity() * sizeof(Notice);
  for (const Rank& rank : ranks_) {
    sum += sizeof(Rank) + rank.with.capacity() * (sizeof(Connection) + kStripingBytes);
  }
  return sum;
}

}  // namespace alm::harness
