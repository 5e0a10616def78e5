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

}  // namespace alm::plan
