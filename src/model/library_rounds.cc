#include "model/library_rounds.h"

#include "model/stock_schedule.h"

namespace alm::model {

std::vector<Round> library_rounds(std::string_view candidate, std::uint32_t ranks) {
  if (candidate != "mpich:pairwise" && candidate != "openmpi:pairwise") return {};
  const auto schedule = StockSchedule::make(candidate, ranks);
  std::vector<Round> rounds;
  for (std::uint32_t number = 0; number + 1 < ranks; ++number) {
    Round& round = rounds.emplace_back();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      round.messages.push_back({rank, schedule.value().round(rank, number).sends.front().to, 1});
    }
  }
  return rounds;
}

double rounds_over_complete(std::string_view candidate, const LinkBound& links,
                            std::uint32_t ranks) {
  if (!links.is_tree()) return 1;
  const auto rounds = library_rounds(candidate, ranks);
  if (rounds.empty()) return 1;
  const std::uint64_t block = links.packet_bytes();
  double seconds = 0;
  for (const Round& round : rounds) seconds += links.seconds(round, block);
  return seconds / links.complete_seconds(block);
}

}  // namespace alm::model
