#include "harness/striped_ranks.h"

#include <algorithm>
#include <utility>

namespace alm::harness {

using sim::kNone;
using sim::Picos;

namespace {

constexpr std::uint32_t kNoticeBytes = 64;  // of payload
constexpr std::uint64_t kSmallPackets = 8;  // one stripe: it would give no estimate (004, 4.3.2)

}  // namespace

base::Result<std::unique_ptr<Program>> StripedRanks::make(const SimRequest& request) {
  const transport::Config config = request.config(0);
  if (auto checked = check_striping(config.path_rule); !checked) return checked.error();
  std::unique_ptr<StripedRanks> out(new StripedRanks);
  if (auto made = out->set_up(request, "stripes"); !made) return made.error();
  out->flow_ = *request.striped;
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    Rank& made = out->ranks_.emplace_back();
    made.with.resize(count);
    for (const base::PeerId peer : out->rounds(rank).send) {
      auto& striping = made.with[peer].striping;
      if (striping) continue;
      striping = std::make_unique<Striping>(
          paths::PathSetup{config.path_rule, config.paths, config.path_batch,
                           out->flow_.first_apart ? std::uint64_t{rank} * count + peer : 0},
          out->flow_.alpha);
    }
    for (const base::PeerId peer : out->rounds(rank).recv) {
      for (std::uint32_t exchange = 0; exchange < request.exchanges; ++exchange) {
        out->messages_expected_ += out->amount(exchange, peer, rank) > 0 ? 1 : 0;
      }
    }
  }
  return std::unique_ptr<Program>(std::move(out));
}

void StripedRanks::enter(std::uint32_t rank, Picos now) {
  begin_visit(rank);
  ranks_[rank].round = 0;
  begin_round(rank, now);
  end_rounds(rank, now);
}

void StripedRanks::begin_round(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  const base::Rounds& order = rounds(rank);
  const std::uint32_t exchange = exchange_of(rank);
  self.sends_left = self.receives_left = 0;
  if (self.round >= order.count()) return;
  for (std::uint32_t i = order.recv_begin[self.round]; i < order.recv_begin[self.round + 1]; ++i) {
    const base::PeerId from = order.recv[i];
    if (amount(exchange, from, rank) == 0) continue;
    ++self.receives_left;
    const std::uint32_t message = self.with[from].messages_posted++;
    self.with[from].receiving[message].posted = true;
    clear(rank, now, from, message);
  }
  for (std::uint32_t i = order.send_begin[self.round]; i < order.send_begin[self.round + 1]; ++i) {
    const base::PeerId to = order.send[i];
    const std::uint64_t bytes = amount(exchange, rank, to);
    if (bytes == 0) continue;
    ++self.sends_left;
    Connection& with = self.with[to];
    const std::uint32_t message = with.messages_sent++;
    Sending& sending = with.sending[message];
    sending.stripes = with.striping->cut(bytes, kSmallPackets * packet_bytes());
    sending.posted.assign(sending.stripes.size(), 0);
    sending.times.assign(sending.stripes.size(), 0);
    post(rank, now,
         {.from = rank,
          .to = to,
          .message = message,
          .stripe = static_cast<std::uint8_t>(sending.stripes.size()),
          .kind = Kind::kStart},
         0);
  }
}

void StripedRanks::end_rounds(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  if (!is_inside(rank)) return;
  const std::size_t rounds_in_all = rounds(rank).count();
  while (self.sends_left == 0 && self.receives_left == 0) {
    if (self.round < rounds_in_all) ++self.round;
    if (self.round == rounds_in_all) {
      end_visit(rank, now);
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
  const std::uint32_t pair = flow_.as_posted ? 0 : notice.to * wire::kPathsMax + notice.path;
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
      receiving.stripes_missing += notice.stripe;
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
  if (--message.stripes_missing > 0) return;
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
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone) return false;
  Rank& self = ranks_[rank];
  work(rank, now);
  while (is_due(rank, now)) {
    enter(rank, now);
    work(rank, now);
  }
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
          static_cast<std::uint32_t>(std::min<std::uint64_t>(packet_bytes(), descriptor.bytes));
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
  address(packet, rank, cargo.to, cargo.path, payload);
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
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone) return sim::kNever;
  return std::min(MessageProgram::deadline(host), ranks_[rank].processor.next());
}

void StripedRanks::fill(SimResult& result) const {
  fill_times(result);
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
