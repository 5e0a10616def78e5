// Ranks that do not agree: on a size, on which set is next, or on whether they meet at all.
#include <fmt/format.h>

#include <algorithm>

#include "transport/io/driver_impl.h"

namespace alm::io {
namespace {

// Longer than a datagram is under way: what is heard so much later was said later, too.
constexpr base::Nanos kInOrder = base::kSecond;

}  // namespace

// The channel has given up by itself. Peers that wait on other sets get no sizes, but a name.
bool Driver::Impl::notice_mismatch(SetEntry& entry) {
  const auto& found = entry.channel.mismatch();
  if (found && !entry.failure)
    give_up(entry, {base::ErrorCode::kBadInput, entry.mismatch()}, entry.numbers[found->from]);
  return found.has_value();
}

// A peer that has not entered the running exchange, though it is in one of another set of the
// family that this rank has not entered: in whatever order the others take the two, one of them is
// wrong. Empty: nothing of the kind.
std::string Driver::Impl::notice_disorder(const SetEntry& entry) const {
  if (entry.family == 0) return {};
  if (std::string elsewhere = notice_elsewhere(entry); !elsewhere.empty()) return elsewhere;
  const base::Nanos in_order = base::slowed(kInOrder, time_scale);
  for (const SetEntry* other : sets.live()) {
    if (other == &entry || other->family != entry.family) continue;
    for (transport::PeerId there = 0; there < other->numbers.size(); ++there) {
      const auto ahead = other->channel.ahead(there);
      if (!ahead) continue;
      const auto same =
          std::find(entry.numbers.begin(), entry.numbers.end(), other->numbers[there]);
      if (same == entry.numbers.end()) continue;
      const auto peer = static_cast<transport::PeerId>(same - entry.numbers.begin());
      const base::Nanos said = entry.channel.not_entered_at(peer);
      if (said == 0 || said - ahead->since < in_order) continue;
      return entry.disorder(peer, ahead->sends == 0 ? std::nullopt : std::optional(ahead->sends));
    }
  }
  return {};
}

// A peer that has not entered the running exchange, because it does something else in this call, or
// in a later one already.
std::string Driver::Impl::notice_elsewhere(const SetEntry& entry) const {
  for (transport::PeerId peer = 0; peer < entry.numbers.size(); ++peer) {
    const auto elsewhere = entry.channel.elsewhere(peer);
    if (!elsewhere || elsewhere->call < entry.call) continue;
    if (elsewhere->call == transport::Attendance::kNoFurtherCall) {
      return no_further_call_text(entry.name_of(entry.numbers[peer]));
    }
    const bool here = elsewhere->call == entry.call;
    return entry.disorder(peer, here ? std::optional(elsewhere->sends) : std::nullopt);
  }
  return {};
}

std::string another_way_text(const std::string& peer, std::optional<std::uint64_t> sends,
                             const std::string& self, std::uint64_t bytes) {
  return fmt::format(
      "{} {}takes another way than {}, which sends it {} bytes: do all ranks give the same count?",
      peer, sends ? fmt::format("sends {} bytes and ", *sends) : "", self, bytes);
}

std::string no_further_call_text(const std::string& peer) {
  return fmt::format(
      "{} is in MPI_Finalize and does not enter this exchange: do all ranks make the same calls, "
      "with the same counts?",
      peer);
}

}  // namespace alm::io
