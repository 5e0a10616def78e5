// The ranks of a communicator that exchange over MPI point-to-point messages, and the orders in
// which MPI libraries themselves do so: whichever of them is best there can be matched.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "carrier/bruck_blocks.h"
#include "carrier/plan_rounds.h"
#include "carrier/point_to_point.h"
#include "plan/message_order.h"

namespace alm::carrier {

class MessageGroup {
 public:
  MessageGroup(std::unique_ptr<PointToPoint> messages, std::uint32_t ranks, std::uint32_t self);

  ~MessageGroup();
  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  // In the rounds the exchange names.
  base::Status run(const transport::Exchange& exchange);
  // One block of `bytes` per rank; self's own is not copied.
  base::Status run(plan::MessageOrder order, const std::byte* send, std::byte* recv,
                   std::uint64_t bytes);

  // Tells all others that this rank has failed; nothing runs after.
  void give_up() { messages_->give_up(); }
  // As in PointToPoint: MPI may still use the memory that exchanges named.
  bool ended() { return messages_->ended(); }
  void keep(std::shared_ptr<const void> memory) { messages_->keep(std::move(memory)); }

  std::uint64_t messages_sent() const { return messages_->messages_sent(); }

 private:
  base::Status run_bruck(const std::byte* send, std::byte* recv, std::uint64_t bytes);

  std::unique_ptr<PointToPoint> messages_;
  std::uint32_t ranks_;
  PlanRounds pairwise_, one_round_;
  BruckBlocks bruck_;
};

}  // namespace alm::carrier
