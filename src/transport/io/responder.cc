// The responder: keeps the sockets alive while the program is outside the library.
//
// Programs call in tight loops, where waking a thread at the end of each call would cost more than
// the call. So it sleeps in short timed waits while calls are frequent, looks at the sockets only
// when the program has been away for kAway, and sleeps without a timer through a call that has
// outlasted a tick: the end of such a call wakes it. A peer may lack something, though, and then it
// waits for us. After a call that took long in comparison with waking a thread, and that has left
// packets unacknowledged, the responder takes over as soon as a 32nd part of the call's time has
// passed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/blocked_signals.h"
#include "transport/io/driver_impl.h"

namespace alm::io {
namespace {

// Peers wait so long for an answer at most: times that belong to the speed of the network.
constexpr base::Nanos kAway = 8 * base::kMillisecond;
constexpr base::Nanos kLongCall = 2 * base::kMillisecond;
constexpr base::Nanos kPartOfLongCall = 32;

}  // namespace

base::Status Driver::Impl::start_responder() {
  const base::BlockedSignals blocked;
  try {
    responder = std::thread([this] { respond(); });
  } catch (const std::system_error& error) {
    return base::io_error(fmt::format("cannot start a thread: {}", error.what()));
  }
  return {};
}

void Driver::Impl::stop_responder() {
  if (!responder.joinable()) return;
  {
    const Lock lock(mutex);
    stop = true;
    responder_poll.kick();
    responder_wake.notify_one();
  }
  responder.join();
}

void Driver::Impl::end_call(base::Nanos at) {
  --calls;
  if (calls > 0) return;
  const base::Nanos took = at - call_begin;
  const base::Nanos away = base::slowed(kAway, time_scale);
  const bool awaited = took >= base::slowed(kLongCall, time_scale) && !all_settled();
  away_at = at + (awaited ? std::min(away, took / kPartOfLongCall) : away);
  if (!responder_deep && !awaited) return;
  responder_deep = false;
  responder_wake.notify_one();
}

void Driver::Impl::respond() {
  const base::Nanos tick = base::slowed(kAway, time_scale);
  Lock lock(mutex);
  std::uint64_t call_seen = 0;
  while (!stop) {
    const base::Nanos left = away_at - monotonic_now();
    if (calls > 0 && call_seen == calls_begun) {
      responder_deep = true;
      responder_wake.wait(lock, [this] { return stop || !responder_deep; });
    } else if (calls > 0 || left > 0) {
      call_seen = calls_begun;
      const base::Nanos wait = calls > 0 ? tick : left;
      responder_wake.wait_for(lock, std::chrono::nanoseconds(wait));
    } else {
      respond_while_away(lock);
    }
  }
}

void Driver::Impl::respond_while_away(Lock& lock) {
  ++counters.responder_turns;
  bool read = true;
  while (!stop && calls == 0) {
    now = monotonic_now();
    if (read) receive();
    const bool more = pump();
    read = true;
    if (more) continue;
    block(lock, earliest_deadline(), responder_poll, &read);
  }
}

}  // namespace alm::io
