#include "transport/config.h"

#include <string>

namespace alm::transport {

base::Result<Reliability> parse_reliability(std::string_view name) {
  if (name == "selective-repeat") return Reliability::kSelectiveRepeat;
  if (name == "go-back-n") return Reliability::kGoBackN;
  return base::bad_input("reliability `" + std::string(name) +
                         "` is unknown; expected selective-repeat or go-back-n");
}

base::Result<SendRule> parse_send_rule(std::string_view name) {
  if (name == "either") return SendRule::kEither;
  if (name == "receive-clock") return SendRule::kReceiveClock;
  if (name == "unacked") return SendRule::kUnacked;
  return base::bad_input("send_rule `" + std::string(name) +
                         "` is unknown; expected either, receive-clock or unacked");
}

base::Status check_paths(std::uint32_t paths, std::uint32_t batch, Reliability reliability) {
  if (auto possible = paths::check_paths(paths, batch); !possible) return possible;
  if (paths > 1 && reliability == Reliability::kGoBackN) {
    return base::bad_input(
        "several paths need reliability selective-repeat, because packets of different paths "
        "overtake each other");
  }
  return {};
}

}  // namespace alm::transport
