#include "carrier/message_group.h"

#include <utility>

namespace alm::carrier {

MessageGroup::MessageGroup(std::unique_ptr<PointToPoint> messages, std::uint32_t ranks,
                           std::uint32_t self)
    : messages_(std::move(messages)),
      ranks_(ranks),
      pairwise_(shift_rounds(ranks, self)),
      one_round_(group_rounds(ranks, self)),
      bruck_(plan::make_uniform_bruck(ranks, 2), self) {}

MessageGroup::~MessageGroup() {
  if (!messages_->ended()) {
    messages_->keep(std::make_shared<const BruckBlocks>(std::move(bruck_)));
  }
}

base::Status MessageGroup::run(const transport::Exchange& exchange) {
  return messages_->run(exchange, PointToPoint::kFew);
}

base::Status MessageGroup::run(plan::MessageOrder order, const std::byte* send, std::byte* recv,
                               std::uint64_t bytes) {
  if (order == plan::MessageOrder::kBruck) return run_bruck(send, recv, bytes);
  transport::Exchange exchange;
  exchange.rounds = order == plan::MessageOrder::kPairwise ? &pairwise_.rounds : &one_round_.rounds;
  exchange.send = {send, bytes, bytes};
  exchange.recv = {recv, bytes, bytes};
  return messages_->run(exchange, order == plan::MessageOrder::kAll ? ranks_ : PointToPoint::kFew);
}

base::Status MessageGroup::run_bruck(const std::byte* send, std::byte* recv, std::uint64_t bytes) {
  bruck_.begin(send, bytes);
  for (std::size_t phase = 0; phase < bruck_.phases(); ++phase) {
    if (auto done = messages_->run(bruck_.exchange(phase), PointToPoint::kFew); !done) return done;
    bruck_.arrived(phase);
  }
  bruck_.finish(recv);
  return {};
}

}  // namespace alm::carrier
