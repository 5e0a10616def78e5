#include "plan/message_order.h"

namespace alm::plan {

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
  }
  return "";
}

Plan plan_of(MessageOrder order, std::uint32_t ranks, base::Rank self) {
  Request request;
  request.ranks = ranks;
  request.self = self;
  request.permutation = Permutation::kShift;
  if (order == MessageOrder::kPairwise) request.algorithm = Algorithm::kShiftExchange;
  if (order == MessageOrder::kBruck) request.algorithm = Algorithm::kOneWayBruck;
  return make_plan(request).value();
}

}  // namespace alm::plan
