// The ranks of a communicator that exchange over MPI point-to-point messages, by any plan. Knows no
// algorithms: execute::Execution carries the plans out.
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

class MessageCarrier {
 public:
  using FlowOf = std::function<io::MessageFlow(const plan::Phase&)>;
  // `plan` takes blocks of any size. `between_sites`: another one, which is taken instead: for
  // blocks of which all have one size, or, where it forwards nothing, for all. `flow_of`: of the
  // phases of both.
  MessageCarrier(std::unique_ptr<PointToPoint> messages, plan::Plan plan,
                 const FlowOf& flow_of = few_at_a_time,
                 std::optional<plan::Plan> between_sites = std::nullopt);
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
    Way(PointToPoint& messages, plan::Plan plan, const FlowOf& flow_of);
    execute::Execution execution;
    std::unique_ptr<execute::Carrier> carrier;
  };
  static io::MessageFlow few_at_a_time(const plan::Phase& phase);
  Way& way_of(plan::MessageOrder order);

  std::unique_ptr<PointToPoint> messages_;
  Way any_size_;
  std::unique_ptr<Way> between_sites_;
  bool forwards_ = false;                   // between sites
  std::vector<std::unique_ptr<Way>> ways_;  // by MessageOrder, made when first taken
};

}  // namespace alm::carrier
