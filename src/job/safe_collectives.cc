#include "job/safe_collectives.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace alm::job {

// The others have no words that are less.
base::Status SafeCollectives::tell(bool mine, std::span<std::uint64_t> words) {
  constexpr auto kNothing = std::numeric_limits<std::uint64_t>::max();
  if (!mine) std::fill(words.begin(), words.end(), kNothing);
  return least(words);
}

std::string SafeCollectives::tell(bool mine, const std::string& text) {
  std::uint64_t size = text.size();
  if (!tell(mine, std::span(&size, 1))) return {};
  std::vector<std::uint64_t> words((size + sizeof size - 1) / sizeof size);
  if (mine) std::memcpy(words.data(), text.data(), text.size());
  if (words.empty() || !tell(mine, words)) return {};
  std::string all(size, ' ');
  std::memcpy(all.data(), words.data(), size);
  return all;
}

base::Status SafeCollectives::confirm(int code, std::string_view function) {
  if (on_all(code == kMpiSuccess)) return {};
  return base::io_error(std::string(function) + " failed on it");
}

bool SafeCollectives::on_all(bool here) {
  std::uint64_t everywhere = here ? 1 : 0;
  // Where this fails, the others have taken this rank's answer for granted: so does it.
  if (bootstrap_.allreduce_min(comm_, everywhere) != kMpiSuccess) return here;
  return everywhere != 0;
}

}  // namespace alm::job
