#include "plan/message_order.h"

#include <bit>

namespace alm::plan {

bool is_of_its_own(MessageOrder order, std::uint32_t ranks) {
  // Of two ranks each has the other, in whatever order.
  if (order == MessageOrder::kExchange) return ranks > 2 && std::has_single_bit(ranks);
  if (order == MessageOrder::kMany) return ranks > kManySends + 1;
  return true;
}

std::string_view name_of(MessageOrder order) {
  switch (order) {
    case MessageOrder::kPairwise:
      return "pairwise";
    case MessageOrder::kFew:
      return "few at a time";
    case MessageOrder::kAll:
      return "all at once";
    case MessageOrder::kBruck:
      return "bruck";
    case MessageOrder::kExchange:
      return "pairwise in pairs";
    case MessageOrder::kMany:
      return "many at a time";
  }
  return "";
}

Plan plan_of(MessageOrder order, std::uint32_t ranks, base::Rank self) {
  Request request;
  request.ranks = ranks;
  request.self = self;
  request.permutation = Permutation::kShift;
  if (order == MessageOrder::kPairwise) request.algorithm = Algorithm::kShiftExchange;
  if (order == MessageOrder::kExchange) {
    request.algorithm = Algorithm::kPairwise;
    request.permutation = Permutation::kXor;
  }
  if (order == MessageOrder::kBruck) request.algorithm = Algorithm::kOneWayBruck;
  return make_plan(request).value();
}

}  // namespace alm::plan
