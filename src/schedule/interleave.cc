// Tijdeman, "The chairman assignment problem" (Discrete Mathematics 32, 1980): at place k = 1..n,
// among the items that may take it, k * w_i - x_i >= 1/(2m-2), choose the one whose deadline
// (x_i + 1 - 1/(2m-2)) / w_i comes first, for weights w_i = shares[i] / n, m items and x_i places
// taken so far. Then |k * w_i - x_i| <= 1 - 1/(2m-2) for all i and k. With a queue of releases and
// a heap of deadlines that costs O(n log m). Everything is multiplied out, so integers suffice.
#include "schedule/interleave.h"

#include <algorithm>
#include <queue>

namespace alm::schedule {
namespace {

struct Deadline {
  std::uint64_t scaled;  // (x_i + 1)(2m-2) - 1
  std::uint64_t share;
  std::uint32_t item;
  // For a heap whose top is the earliest deadline, then the lowest item.
  bool operator<(const Deadline& other) const {
    const std::uint64_t mine = scaled * other.share, theirs = other.scaled * share;
    return mine != theirs ? mine > theirs : item > other.item;
  }
};

// The order of the ranks at positions [begin, end), whose groups are those of `level` and below.
std::vector<base::Rank> interleave_range(const Grouping& grouping, std::size_t levels,
                                         std::uint32_t begin, std::uint32_t end) {
  if (levels == 0) {
    return {grouping.order().begin() + begin, grouping.order().begin() + end};
  }
  const std::span<const std::uint32_t> begins = grouping.begins(levels - 1);
  auto it = std::lower_bound(begins.begin(), begins.end(), begin);
  std::vector<std::uint32_t> shares;
  std::vector<std::vector<base::Rank>> members;
  for (; *it != end; ++it) {
    shares.push_back(it[1] - it[0]);
    members.push_back(interleave_range(grouping, levels - 1, it[0], it[1]));
  }
  std::vector<std::uint32_t> taken(shares.size(), 0);
  std::vector<base::Rank> out;
  out.reserve(end - begin);
  for (const std::uint32_t group : fair_sequence(shares)) {
    out.push_back(members[group][taken[group]++]);
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> fair_sequence(std::span<const std::uint32_t> shares) {
  std::uint64_t total = 0;
  for (const std::uint32_t share : shares) total += share;
  const std::uint64_t slack = shares.size() > 1 ? 2 * shares.size() - 2 : 1;
  // released[k]: items that may take place k (from 0) and later ones.
  std::vector<std::vector<Deadline>> released(total);
  const auto release = [&](std::uint32_t item, std::uint64_t taken, std::uint64_t earliest) {
    const std::uint64_t share = shares[item];
    const std::uint64_t place = ((taken * slack + 1) * total - 1) / (slack * share);
    released[std::max(place, earliest)].push_back({(taken + 1) * slack - 1, share, item});
  };
  for (std::uint32_t item = 0; item < shares.size(); ++item) {
    if (shares[item] > 0) release(item, 0, 0);
  }
  std::vector<std::uint32_t> taken(shares.size(), 0);
  std::priority_queue<Deadline> open;
  std::vector<std::uint32_t> out;
  out.reserve(total);
  for (std::uint64_t k = 0; k < total; ++k) {
    for (const Deadline& item : released[k]) open.push(item);
    const std::uint32_t next = open.top().item;
    open.pop();
    out.push_back(next);
    if (++taken[next] < shares[next]) release(next, taken[next], k + 1);
  }
  return out;
}

std::vector<base::Rank> interleaved(const Grouping& grouping) {
  return interleave_range(grouping, grouping.levels(), 0, grouping.ranks());
}

}  // namespace alm::schedule
