// The ranks of a communicator that exchange over MPI point-to-point messages, by any plan. Knows no
// algorithms: execute::Execution carries the plans out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "carrier/point_to_point.h"
#include "execute/execution.h"
#include "plan/message_order.h"
#include "plan/plan.h"

namespace alm::carrier {

class MessageCarrier {
 public:
  // `plan` takes blocks of any size, in this flow. `of_one_size`: another one, for blocks of which
  // all have one size.
  MessageCarrier(std::unique_ptr<PointToPoint> messages, plan::Plan plan,
                 const io::MessageFlow& flow = PointToPoint::kFew,
                 std::optional<plan::Plan> of_one_size = std::nullopt);
  ~MessageCarrier();
  MessageCarrier(const MessageCarrier&) = delete;
  MessageCarrier& operator=(const MessageCarrier&) = delete;

  const plan::Plan& plan() const { return any_size_.execution.plan(); }

  // By the plan for these blocks. Blocks lie by rank; self's own is left alone.
  base::Status run(const transport::ConstBlocks& send, const transport::MutableBlocks& recv,
                   const execute::Amounts& amounts);
  // In one of the orders in which MPI libraries do it, blocks of `bytes`.
  base::Status run(plan::MessageOrder order, const std::byte* send, std::byte* recv,
                   std::uint64_t bytes);

  // Tells all others that this rank has failed; nothing runs after.
  void give_up() { messages_->give_up(); }
  // As in PointToPoint: MPI may still use the memory that exchanges named.
  bool ended() { return messages_->ended(); }
  void keep(std::shared_ptr<const void> memory) { messages_->keep(std::move(memory)); }

  std::uint64_t messages_sent() const { return messages_->messages_sent(); }

 private:
  struct Way {
    Way(PointToPoint& messages, plan::Plan plan, const io::MessageFlow& flow);
    execute::Execution execution;
    std::unique_ptr<execute::Carrier> carrier;
  };
  Way& way_of(plan::MessageOrder order);

  std::unique_ptr<PointToPoint> messages_;
  Way any_size_;
  std::unique_ptr<Way> one_size_;
  std::vector<std::unique_ptr<Way>> ways_;  // by MessageOrder, made when first taken
};

}  // namespace alm::carrier
