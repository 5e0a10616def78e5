// What becomes of exchanges: arrivals, completion, or an end because of an error, which peers are
// told.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "transport/io/driver_impl.h"

namespace alm::io {
namespace {

constexpr base::Nanos kTellingMax = 100 * base::kMillisecond;

double seconds(base::Nanos time) { return static_cast<double>(time) / 1e9; }

std::string doing_of(const SetEntry& entry, transport::PeerId peer, const Driver::Doing& doing) {
  const auto told = entry.channel.doing(peer);
  if (!told || !doing.text) {
    return "its process answers, and computes or is in another call";
  }
  return doing.text(*told);
}

// What has not left by the end of its time still has to, or the next exchange would wait for it.
void update_fill(Call& call, base::Nanos now, Outbox& outbox) {
  SetEntry& entry = *call.fills;
  if (now < call.deadline) return;
  call.over = entry.queued == 0 && !entry.channel.fills();
  if (call.over) return;
  call.deadline = now + kProgressInterval;
  if (now < call.gives_up) return;
  outbox.drop(entry);
  entry.channel.end_fill();
  call.over = true;
}

}  // namespace

bool Driver::Impl::all_settled() const {
  return std::all_of(sets.live().begin(), sets.live().end(), [](const SetEntry* entry) {
    return entry->failure || (entry->queued == 0 && entry->channel.settled());
  });
}

// What has happened in the awaited exchanges; false: nothing yet.
bool Driver::Impl::find_event(Call& call) {
  if (call.event) return true;
  for (std::size_t i = 0; i < call.sets.size(); ++i) {
    SetEntry& entry = *sets.find(call.sets[i]);
    transport::PeerId peer = 0;
    if (!entry.running || !entry.channel.take_arrival(&peer)) continue;
    call.event = {i, peer};
    return true;
  }
  for (std::size_t i = 0; i < call.sets.size(); ++i) {
    SetEntry& entry = *sets.find(call.sets[i]);
    if (!entry.running || !entry.finished) continue;
    entry.running = false;
    ++counters.exchanges;
    call.event = {i, std::nullopt};
    return true;
  }
  return false;
}

// Whether the call is over; looks at the peers.
void Driver::Impl::update(Call& call) {
  if (call.fills != nullptr) return update_fill(call, now, outbox);
  call.over = call.sets.empty() ? all_settled() : find_event(call);
  if (call.over) return;
  for (const std::uint16_t set : call.sets) {
    SetEntry& entry = *sets.find(set);
    notice_mismatch(entry);
    if (entry.failure) return fail(call, entry, *entry.failure, entry.lost);
  }
  if (now >= call.deadline) {
    call.over = true;
    for (const std::uint16_t set : call.sets) {
      SetEntry& entry = *sets.find(set);
      if (!entry.running || entry.finished) continue;
      const std::string text =
          fmt::format("the exchange was not complete after {:.1f} s", seconds(now - entry.begun));
      return fail(call, entry, {base::ErrorCode::kTimeout, text}, std::nullopt);
    }
    return;
  }
  for (const std::uint16_t set : call.sets) {
    check_peers(call, *sets.find(set));
    if (call.over) return;
  }
}

void Driver::Impl::check_peers(Call& call, SetEntry& entry) {
  if (now < entry.next_check || !entry.running || entry.finished) return;
  if (now - listened_until > kDeafMin) return;  // whoever reads next checks
  entry.next_check = now + kCheckInterval;
  // Before what others have found: who sees it himself knows the sizes.
  if (const std::string disorder = notice_disorder(entry); !disorder.empty()) {
    return fail(call, entry, {base::ErrorCode::kBadInput, disorder},
                entry.numbers[entry.channel.identity().self]);
  }
  const transport::Config& config = entry.channel.config();
  while (const auto failure = entry.channel.check_peers(now)) {
    if (failure->told) {
      return fail(call, entry, entry.told_error(failure->peer, *failure->told), *failure->told);
    }
    const std::string who = entry.name_of(entry.numbers[failure->peer]);
    if (failure->fatal) {
      return fail(call, entry,
                  {base::ErrorCode::kPeerLost,
                   fmt::format("{} is lost: silent for {:.1f} s (ALLEMANDE_PEER_TIMEOUT_S)", who,
                               seconds(failure->silent))},
                  entry.numbers[failure->peer]);
    }
    call.warnings.push_back(fmt::format(
        "{} silent for {:.1f} s; waiting until {:.0f} s (ALLEMANDE_PEER_TIMEOUT_S): its "
        "process is stopped, or cannot be reached",
        who, seconds(failure->silent), seconds(config.peer_timeout)));
  }
  if (!entry.told_absent && now - entry.begun >= config.peer_warning) tell_absent(call, entry);
}

std::string absent_text(const std::vector<std::string>& names,
                        const std::function<std::string()>& call, base::Nanos waited) {
  const std::span told = std::span(names).first(std::min(names.size(), kAbsentNamed));
  std::string who = fmt::format("{}", fmt::join(told, ", "));
  if (names.size() > told.size()) who += fmt::format(" and {} more", names.size() - told.size());
  return fmt::format("{} {} not entered {} for {:.0f} s", who, names.size() == 1 ? "has" : "have",
                     call ? call() : "this exchange", seconds(waited));
}

// Their processes answer, so that nothing else would ever be said. Once for an exchange.
void Driver::Impl::tell_absent(Call& call, SetEntry& entry) {
  const auto absent = entry.absent();
  if (absent.empty()) return;
  entry.told_absent = true;
  std::vector<std::string> names, doings;
  std::uint32_t present = 0;  // the first of those that have come
  for (std::size_t i = 0; i < absent.size(); ++i) {
    if (absent[i] == present) ++present;
    names.push_back(entry.name_of(entry.numbers[absent[i]]));
    if (i >= kAbsentNamed) continue;
    std::string does = doing_of(entry, absent[i], doing);
    if (call.warn.call && does == "it is in " + call.warn.call()) {
      does += ", on another communicator, or waits there for ranks of its host";
    }
    doings.push_back(std::move(does));
  }
  if (entry.channel.identity().self != present) return;
  call.warnings.push_back(absent_text(names, call.warn.call, now - entry.begun) + ": " +
                          fmt::format("{}", fmt::join(doings, "; ")));
}

// Ends all exchanges of the call.
void Driver::Impl::fail(Call& call, SetEntry& entry, base::Error error,
                        std::optional<std::uint32_t> lost) {
  call.over = true;
  if (!entry.failure) give_up(entry, error, lost);
  for (const std::uint16_t set : call.sets) {
    SetEntry& other = *sets.find(set);
    if (other.running && !other.finished) give_up(other, error, lost);
    other.running = false;
  }
  call.status = std::move(error);
}

void Driver::Impl::give_up(SetEntry& entry, const base::Error& error,
                           std::optional<std::uint32_t> lost) {
  outbox.drop(entry);
  entry.channel.abandon(lost);
  entry.attention = lost.has_value();
  entry.deadline = base::kNever;
  entry.failure = error;
  entry.lost = lost;
  entry.running = false;
}

// A program often ends right after a failure: what is to be told goes out before this returns.
void Driver::Impl::tell(Lock& lock) {
  if (driving) {
    driver_wake.kick();
    return;
  }
  begin_call();
  driving = true;
  const base::Nanos limit = monotonic_now() + base::slowed(kTellingMax, time_scale);
  bool read = false;
  for (now = monotonic_now(); now < limit; now = monotonic_now()) {
    if (read) receive();
    if (!pump() && outbox.empty()) break;
    if (!outbox.empty()) block(lock, limit, driver_wake, &read);
  }
  driving = false;
  waiters.wake_all();
  end_call(now);
}

void Driver::Impl::give_up_all(Lock& lock, std::span<const std::uint16_t> numbers,
                               const base::Error& error, std::uint32_t lost) {
  for (const std::uint16_t set : numbers) {
    SetEntry* entry = sets.find(set);
    if (entry != nullptr && !entry->failure) give_up(*entry, error, lost);
  }
  tell(lock);
}

}  // namespace alm::io
