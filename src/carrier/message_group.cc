#include "carrier/message_group.h"

#include <algorithm>

namespace alm::carrier {
namespace {

// Messages outstanding at once.
std::uint32_t sends_of(plan::MessageOrder order, std::uint32_t ranks) {
  if (order == plan::MessageOrder::kAll) return ranks;
  return order == plan::MessageOrder::kMany ? plan::kManySends : PointToPoint::kFew;
}

// Runs each phase on a strand of its own. MPI addresses ranks, so peers are translated to ranks.
class MessagePhases final : public execute::Carrier {
 public:
  MessagePhases(PointToPoint& messages, const plan::Plan& plan, const MessageGroup::FlowOf& flow_of)
      : messages_(messages), plan_(plan) {
    for (const plan::Phase& phase : plan.phases) {
      strands_.push_back(strands_.size());
      flows_.push_back(flow_of(phase));
    }
    by_rank_.resize(plan.phases.size());
  }

  base::Status start(std::size_t phase, const transport::Exchange& exchange) override {
    return messages_.start(phase, by_rank(phase, exchange), flows_[phase]);
  }
  void make_ready(std::size_t phase, base::PeerId peer) override {
    messages_.make_ready(phase, plan_.phases[phase].rank_of(peer).value);
  }
  base::Result<Event> await() override {
    const auto event = messages_.await(strands_);
    if (!event) return event.error();
    const auto [phase, rank] = event.value();
    if (!rank || plan_.phases[phase].members.empty()) return Event{phase, rank};
    const auto& members = plan_.phases[phase].members;
    const auto found = std::find(members.begin(), members.end(), base::Rank{*rank});
    return Event{phase, static_cast<base::PeerId>(found - members.begin())};
  }

 private:
  struct ByRank {
    base::Rounds rounds;
    std::vector<std::uint64_t> send_at, send_size, recv_at, recv_size;
    std::vector<std::uint8_t> withheld;
  };

  transport::Exchange by_rank(std::size_t phase, const transport::Exchange& by_peer) {
    const auto& members = plan_.phases[phase].members;
    if (members.empty()) return by_peer;
    ByRank& all = by_rank_[phase];
    all.rounds = *by_peer.rounds;
    for (auto* peers : {&all.rounds.send, &all.rounds.recv}) {
      for (base::PeerId& peer : *peers) peer = members[peer].value;
    }
    for (auto* words : {&all.send_at, &all.send_size, &all.recv_at, &all.recv_size}) {
      words->assign(plan_.ranks, 0);
    }
    all.withheld.assign(plan_.ranks, 0);
    for (base::PeerId peer = 0; peer < members.size(); ++peer) {
      const std::uint32_t rank = members[peer].value;
      if (rank == plan_.self.value) continue;
      all.send_at[rank] = static_cast<std::uint64_t>(by_peer.send.at(peer) - by_peer.send.base);
      all.recv_at[rank] = static_cast<std::uint64_t>(by_peer.recv.at(peer) - by_peer.recv.base);
      all.send_size[rank] = by_peer.send.size_of(peer);
      all.recv_size[rank] = by_peer.recv.size_of(peer);
      if (!by_peer.withheld.empty()) all.withheld[rank] = by_peer.withheld[peer];
    }
    transport::Exchange exchange = by_peer;
    exchange.rounds = &all.rounds;
    exchange.send = {by_peer.send.base, 0, 0, all.send_at, all.send_size};
    exchange.recv = {by_peer.recv.base, 0, 0, all.recv_at, all.recv_size};
    if (!by_peer.withheld.empty()) exchange.withheld = all.withheld;
    return exchange;
  }

  PointToPoint& messages_;
  const plan::Plan& plan_;
  std::vector<std::size_t> strands_;
  std::vector<messages::MessageFlow> flows_;  // by phase
  std::vector<ByRank> by_rank_;               // by phase
};

}  // namespace

MessageGroup::PreparedPlan::PreparedPlan(PointToPoint& messages, plan::Plan plan,
                                         const FlowOf& flow_of)
    : execution(std::move(plan)),
      carrier(std::make_unique<MessagePhases>(messages, execution.plan(), flow_of)) {}

messages::MessageFlow MessageGroup::few_at_a_time(const plan::Phase& /*phase*/) {
  return PointToPoint::kFew;
}

MessageGroup::MessageGroup(std::unique_ptr<PointToPoint> messages, plan::Plan plan,
                           const FlowOf& flow_of, std::optional<plan::Plan> between_sites)
    : messages_(std::move(messages)),
      any_size_(*messages_, std::move(plan), flow_of),
      prepared_(plan::kMessageOrders) {
  if (!between_sites) return;
  forwards_ = between_sites->forwards();
  between_sites_ = std::make_unique<PreparedPlan>(*messages_, *std::move(between_sites), flow_of);
}

// MPI may still use the buffers in which messages were put together.
MessageGroup::~MessageGroup() {
  if (messages_->ended()) return;
  for (auto& made : prepared_) messages_->keep(std::shared_ptr<const void>(std::move(made)));
  messages_->keep(std::shared_ptr<const void>(std::move(between_sites_)));
}

base::Status MessageGroup::run(const transport::ConstBlocks& send,
                               const transport::MutableBlocks& recv,
                               const execute::Amounts& amounts) {
  const bool between = between_sites_ && (amounts.uniform() || !forwards_);
  PreparedPlan& made = between ? *between_sites_ : any_size_;
  return made.execution.run(*made.carrier, send, recv, amounts);
}

MessageGroup::PreparedPlan& MessageGroup::prepared(plan::MessageOrder order) {
  auto& made = prepared_[static_cast<std::size_t>(order)];
  if (!made) {
    const std::uint32_t ranks = plan().ranks;
    const std::uint32_t sends = sends_of(order, ranks);
    made = std::make_unique<PreparedPlan>(
        *messages_, plan::plan_of(order, ranks, plan().self),
        [sends](const plan::Phase&) { return messages::MessageFlow(sends); });
  }
  return *made;
}

base::Status MessageGroup::run(plan::MessageOrder order, const std::byte* send, std::byte* recv,
                               std::uint64_t bytes) {
  PreparedPlan& made = prepared(order);
  return made.execution.run(*made.carrier, {send, bytes, bytes}, {recv, bytes, bytes},
                            {.each = bytes});
}

}  // namespace alm::carrier
