#include "job/agreement.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

namespace alm::job {
namespace {

static_assert(std::is_trivially_copyable_v<JobRecord>);
static_assert(sizeof(JobRecord) == 240,
              "builds with other contents keep this size and change `layout`");

constexpr std::size_t kNamesShown = 8;

// The configuration most ranks have; among equals that of the lowest rank.
std::uint64_t majority(std::span<const JobRecord> records) {
  std::map<std::uint64_t, std::size_t> count;
  for (const auto& record : records) ++count[record.configuration];
  std::uint64_t best = records.front().configuration;
  for (const auto& record : records) {
    if (count[record.configuration] > count[best]) best = record.configuration;
  }
  return best;
}

template <class Predicate>
std::vector<std::uint32_t> ranks_where(std::span<const JobRecord> records, Predicate predicate) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < records.size(); ++rank) {
    if (predicate(records[rank])) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::uint64_t configuration_hash(std::string_view shared_options, std::string_view cluster_text) {
  return XXH3_64bits_withSeed(cluster_text.data(), cluster_text.size(),
                              XXH3_64bits(shared_options.data(), shared_options.size()));
}

void set_host(std::array<char, kHostNameBytes>& field, std::string_view name) {
  field.fill('\0');
  std::copy_n(name.begin(), std::min(name.size(), field.size() - 1), field.begin());
}

std::string_view host_of(const std::array<char, kHostNameBytes>& field) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  return {field.data(), static_cast<std::size_t>(end - field.begin())};
}

std::string name_ranks(std::span<const std::uint32_t> ranks, std::span<const JobRecord> records) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == kNamesShown) {
      return text + " and " + std::to_string(ranks.size() - kNamesShown) + " more";
    }
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    text += " (";
    text += host_of(records[ranks[i]].host);
    text += ")";
  }
  return text;
}

std::vector<std::uint32_t> first_ranks(std::span<const JobRecord> records) {
  std::vector<std::uint32_t> out;
  std::set<std::pair<std::string_view, std::uint32_t>> known;  // on_one_host(), for many
  for (std::uint32_t rank = 0; rank < records.size(); ++rank) {
    if (known.emplace(host_of(records[rank].host), records[rank].machine).second) {
      out.push_back(rank);
    }
  }
  return out;
}

Agreement agree(std::span<const JobRecord> records) {
  Agreement agreement;
  const auto other_build = ranks_where(
      records, [&](const JobRecord& record) { return record.layout != JobRecord{}.layout; });
  if (!other_build.empty()) {
    agreement.obstacle = Obstacle::kOtherBuild;
    agreement.ranks = name_ranks(other_build, records);
    agreement.warning = "another version of allemande is preloaded on " + agreement.ranks +
                        "; every call passes through. Preload the same file on all hosts.";
    return agreement;
  }
  const auto invalid =
      ranks_where(records, [](const JobRecord& record) { return record.usable == 0; });
  if (!invalid.empty()) {
    agreement.obstacle = Obstacle::kInvalidHere;
    agreement.ranks = name_ranks(invalid, records);
    agreement.warning = "the configuration is not valid on " + agreement.ranks +
                        "; every call passes through on all ranks.";
    return agreement;
  }
  const std::uint64_t common = majority(records);
  const auto different =
      ranks_where(records, [&](const JobRecord& record) { return record.configuration != common; });
  if (!different.empty()) {
    agreement.obstacle = Obstacle::kDifferent;
    agreement.ranks = name_ranks(different, records);
    agreement.warning =
        "options or cluster file differ on " + agreement.ranks +
        " from those of the other ranks; every call passes through on all ranks. Give every rank "
        "the same ALLEMANDE_ variables and the same contents of the cluster file (`allemande run` "
        "forwards them).";
    return agreement;
  }
  agreement.stats = std::any_of(records.begin(), records.end(),
                                [](const JobRecord& record) { return record.wants_stats != 0; });
  const bool alone = std::all_of(records.begin(), records.end(), [&](const JobRecord& record) {
    return on_one_host(record, records.front());
  });
  if (alone) {
    agreement.obstacle = Obstacle::kOneHost;
    if (records.size() > 1) {
      agreement.warning = "all " + std::to_string(records.size()) + " ranks are on " +
                          std::string(host_of(records.front().host)) +
                          "; every call passes through (there is no network between them).";
    }
    return agreement;
  }
  agreement.accelerate = true;
  agreement.threads = std::all_of(records.begin(), records.end(),
                                  [](const JobRecord& record) { return record.threads != 0; });
  agreement.device_memory =
      std::any_of(records.begin(), records.end(),
                  [](const JobRecord& record) { return record.device_memory != 0; });
  return agreement;
}

}  // namespace alm::job
