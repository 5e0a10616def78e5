// The ranks of a communicator that exchange over MPI point-to-point messages. It knows no
// algorithms: execute::Execution carries out its plans.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "carrier/point_to_point.h"
#include "execute/execution.h"
#include "plan/message_order.h"
#include "plan/plan.h"

namespace alm::carrier {

class MessageGroup {
 public:
  using FlowOf = std::function<messages::MessageFlow(const plan::Phase&)>;
  // `plan` serves blocks of any size. `between_sites` takes its place where blocks have one size,
  // and for all blocks if it forwards none. `flow_of` serves the phases of both plans.
  MessageGroup(std::unique_ptr<PointToPoint> messages, plan::Plan plan,
               const FlowOf& flow_of = few_at_a_time,
               std::optional<plan::Plan> between_sites = std::nullopt);
  ~MessageGroup();
  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  const plan::Plan& plan() const { return any_size_.execution.plan(); }

  // Exchanges blocks by the plan that serves them. Blocks lie by rank; self's own is left alone.
  base::Status run(const transport::ConstBlocks& send, const transport::MutableBlocks& recv,
                   const execute::Amounts& amounts);
  // Exchanges blocks of `bytes` in one of the orders that MPI libraries use.
  base::Status run(plan::MessageOrder order, const std::byte* send, std::byte* recv,
                   std::uint64_t bytes);

  // Tells all others that this rank has failed. Nothing runs after that.
  void give_up() { messages_->give_up(); }
  // See PointToPoint.
  bool ended() { return messages_->ended(); }
  void keep(std::shared_ptr<const void> memory) { messages_->keep(std::move(memory)); }

  std::uint64_t messages_sent() const { return messages_->messages_sent(); }

 private:
  struct PreparedPlan {
    PreparedPlan(PointToPoint& messages, plan::Plan plan, const FlowOf& flow_of);
    execute::Execution execution;
    std::unique_ptr<execute::Carrier> carrier;
  };
  static messages::MessageFlow few_at_a_time(const plan::Phase& phase);
  PreparedPlan& prepared(plan::MessageOrder order);

  std::unique_ptr<PointToPoint> messages_;
  PreparedPlan any_size_;
  std::unique_ptr<PreparedPlan> between_sites_;
  bool forwards_ = false;                                // the plan between sites does
  std::vector<std::unique_ptr<PreparedPlan>> prepared_;  // by MessageOrder, made when first taken
};

}  // namespace alm::carrier
