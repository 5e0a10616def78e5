// What the thread that drives does, and those that wait for its turn.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/io/driver_impl.h"
#include "wire/bytes.h"

namespace alm::io {
namespace {

// Batches sent before the sockets are read again.
constexpr int kBatchesPerTurn = 4;
// Where frames are farther apart, looks cost more processor time than sleeping (docs/adr/0022).
constexpr base::Nanos kApartMax = 100 * base::kMicrosecond;
constexpr std::size_t kSetOffset = 2;  // of Header::set

}  // namespace

// The caller's functions may take long: they are called without the lock and without the turn, so
// that another thread can drive meanwhile.
void Driver::Impl::serve(Lock& lock, Call& call) {
  while (!call.over) {
    if (owes(call)) {
      pay(lock, call);
    } else if (driving) {
      await_turn(lock, call);
    } else {
      driving = true;
      drive(lock, call);
      driving = false;
    }
  }
  if (!driving) waiters.hand_over();
  // Arrivals may come so fast that there is no wait between them.
  if (call.event && call.event->arrived && owes(call)) pay(lock, call);
}

bool Driver::Impl::owes(const Call& call) const {
  return !call.warnings.empty() || (call.progress && now >= call.next_progress);
}

void Driver::Impl::pay(Lock& lock, Call& call) {
  const bool progress = call.progress && now >= call.next_progress;
  const base::Nanos begin = now;
  const std::vector<std::string> warnings = std::exchange(call.warnings, {});
  if (!driving) waiters.hand_over();
  lock.unlock();
  if (progress) call.progress();
  for (const std::string& text : warnings) {
    if (call.warn.say) call.warn.say(text);
  }
  lock.lock();
  now = monotonic_now();
  // A library that takes its time gets half of it.
  if (progress) call.next_progress = now + std::max(kProgressInterval, now - begin);
}

// Until the call is over, or its thread owes its caller something.
void Driver::Impl::drive(Lock& lock, Call& call) {
  bool read = true;
  while (true) {
    now = monotonic_now();
    if (read) receive();
    const bool more = pump();
    finish_complete();
    update(call);
    if (call.over || owes(call)) return;
    read = true;
    if (more) continue;
    base::Nanos until = std::min({earliest_deadline(), call.deadline, next_check(call)});
    if (call.progress) until = std::min(until, call.next_progress);
    if (outbox.empty() && !waiters.any() && news_before_sleep(until)) {
      read = false;
      continue;
    }
    block(lock, until, driver_wake, &read);
  }
}

// Whether something comes while others have the processor for a moment: on hosts with more ranks
// than cores it is what these others send.
bool Driver::Impl::news_before_sleep(base::Nanos until) {
  if (gathers_until(now) > now || !packets_come_soon() || !looks.pay()) return false;
  for (int look = 0; look < base::Looks::kBeforeSleep; ++look) {
    ::sched_yield();
    now = monotonic_now();
    if (now >= until) return false;
    if (receive()) {
      looks.note(true);
      return true;
    }
  }
  looks.note(false);
  return false;
}

bool Driver::Impl::packets_come_soon() const {
  const auto& live = sets.live();
  return std::any_of(live.begin(), live.end(), [](const SetEntry* entry) {
    return entry->running && entry->channel.frame_time() <= kApartMax;
  });
}

// Another thread drives, these exchanges too.
void Driver::Impl::await_turn(Lock& lock, Call& call) {
  // It may sleep without knowing what we have to send.
  if (wants_attention(call)) driver_wake.kick();
  waiters.wait(lock, &call, [&] { return !driving || find_event(call); });
  now = monotonic_now();
  update(call);
}

bool Driver::Impl::receive() {
  note_deafness(now);
  return endpoint->receive(sink) > 0;
}

// Peers may have asked in vain while nobody read, because the machine was busy or a callback took
// long.
void Driver::Impl::note_deafness(base::Nanos at) {
  if (at - listened_until > kDeafMin) {
    for (SetEntry* entry : sets.live()) entry->channel.was_deaf(at - listened_until);
  }
  listened_until = std::max(listened_until, at);
}

void Driver::Impl::route(std::span<const std::byte> datagram) {
  SetEntry* entry = nullptr;
  if (datagram.size() >= wire::kHeaderBytes) {
    entry = sets.find(wire::load<std::uint16_t>(datagram.data() + kSetOffset));
  }
  if (entry == nullptr) {
    ++counters.unknown_set;
    return;
  }
  const std::size_t arrivals = entry->channel.arrivals();
  if (!entry->channel.on_datagram(now, datagram)) return;
  entry->attention = true;
  if (doing.now && entry->channel.asked()) entry->channel.does(doing.now());
  news = news || entry->channel.arrivals() != arrivals;
}

// Sends what the channels have to send until they, or the kernel, have enough. True: there is more.
bool Driver::Impl::pump() {
  const auto& live = sets.live();
  for (int batch = 0; batch < kBatchesPerTurn; ++batch) {
    if (outbox.empty()) {
      const std::size_t limit = endpoint->batch_packets();
      for (std::size_t i = 0; i < live.size() && outbox.room() > 0; ++i) {
        SetEntry& entry = *live[(turn + i) % live.size()];
        if (entry.attention || entry.deadline <= now) outbox.fill(now, entry, limit);
      }
      ++turn;
      may_send = true;
      if (outbox.empty()) return false;
    }
    if (!may_send) return false;
    outbox.flush(now, *endpoint);
    if (!outbox.empty()) return false;
  }
  return true;
}

void Driver::Impl::finish_complete() {
  bool other = std::exchange(news, false);
  for (SetEntry* entry : sets.live()) {
    if (!entry->running || entry->finished || entry->failure || entry->queued > 0) continue;
    if (!entry->channel.complete()) continue;
    entry->channel.release(now);
    entry->attention = true;
    entry->finished = true;
    endpoint->exchanged(entry->to_come, entry->to_wait, now - entry->begun);
    other = true;
  }
  if (other) waiters.tell([this](Call& call) { return find_event(call); });
}

base::Nanos Driver::Impl::earliest_deadline() const {
  base::Nanos earliest = base::kNever;
  // While datagrams wait for the kernel the channels are not asked for more: nor do their timers
  // count.
  if (!outbox.empty()) return earliest;
  for (const SetEntry* entry : sets.live()) earliest = std::min(earliest, entry->deadline);
  return earliest;
}

bool Driver::Impl::wants_attention(const Call& call) const {
  return call.sets.empty() ||
         std::any_of(call.sets.begin(), call.sets.end(),
                     [this](std::uint16_t set) { return sets.find(set)->attention; });
}

base::Nanos Driver::Impl::next_check(const Call& call) const {
  base::Nanos at = base::kNever;
  for (const std::uint16_t set : call.sets) {
    const SetEntry& entry = *sets.find(set);
    if (entry.running) at = std::min(at, entry.next_check);
  }
  return at;
}

// Before then nothing that comes matters to any exchange: it may gather. `at`: no time worth it.
base::Nanos Driver::Impl::gathers_until(base::Nanos at) const {
  if (!outbox.empty()) return at;
  base::Nanos earliest = base::kNever;
  for (const SetEntry* entry : sets.live()) {
    if (entry->running) earliest = std::min(earliest, entry->channel.unmoved_until(at));
  }
  return earliest == base::kNever || earliest - at < kGatherMin ? at : earliest;
}

// Blocks without the lock. Sets `read` to whether the sockets are worth reading.
void Driver::Impl::block(Lock& lock, base::Nanos until, Wake& wake, bool* read) {
  // With the queue full there is nothing to do with what comes in: let it gather until half has
  // drained. That halves the wake-ups of a busy host. Let it gather, too, when everything is sent
  // and much is to come: one wake-up for each packet would cost more than the packets.
  const bool want_write = !outbox.empty();
  const base::Nanos begin = monotonic_now();
  const base::Nanos gathered = gathers_until(begin);
  const bool gathers = gathered > begin;
  const bool poll_read = !gathers && !(want_write && endpoint->send_blocked());
  if (gathers) until = std::min(until, gathered);
  if (!poll_read) until = std::min(until, begin + kProgressInterval);  // should it never drain
  const WaitPlan plan = endpoint->plan_wait(begin, until, want_write, wake.fd(), poll_read);
  wake.sleep();
  listened_until = std::max(begin, until);
  lock.unlock();
  const Ready ready = endpoint->block(plan);
  lock.lock();
  wake.awake();
  if (ready.error && !asking) endpoint->clear_errors();
  *read = ready.readable || !poll_read;
  // What came after the end of the wait has been looked at by nobody. Nothing did, if nothing is
  // there.
  const base::Nanos end = monotonic_now();
  listened_until = *read ? std::min(end, std::max(begin, until)) : end;
  may_send = !want_write || ready.writable || ready.error;
}
}  // namespace alm::io
