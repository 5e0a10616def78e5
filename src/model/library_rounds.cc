#include "model/library_rounds.h"

#include <bit>

namespace alm::model {

std::vector<Round> library_rounds(std::string_view candidate, std::uint32_t ranks) {
  const bool mpich = candidate == "mpich:pairwise";
  if (!mpich && candidate != "openmpi:pairwise") return {};
  const bool pairs = mpich && std::has_single_bit(ranks);
  std::vector<Round> rounds;
  for (std::uint32_t step = 1; step < ranks; ++step) {
    Round& round = rounds.emplace_back();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      round.messages.push_back({rank, pairs ? rank ^ step : (rank + step) % ranks, 1});
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
