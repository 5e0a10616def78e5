#include "transport/io/driver.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "transport/io/driver_impl.h"
#include "wire/bytes.h"

namespace alm::io {
namespace {

constexpr base::Nanos kProgressInterval = base::kMillisecond;
constexpr base::Nanos kCheckInterval = 100 * base::kMillisecond;
constexpr std::chrono::milliseconds kTurnInterval{1};
// Shorter times in which nobody reads are part of life.
constexpr base::Nanos kDeafMin = 20 * base::kMillisecond;
constexpr base::Nanos kTellingMax = 100 * base::kMillisecond;
// Batches sent before the sockets are read again.
constexpr int kBatchesPerTurn = 4;
constexpr std::size_t kSetOffset = 2;  // of Header::set

double seconds(base::Nanos time) { return static_cast<double>(time) / 1e9; }

base::Error forked() {
  return {base::ErrorCode::kUnsupported,
          "this process was forked from the one that opened the sockets; exchanges are not "
          "possible in it"};
}

}  // namespace

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wake::~Wake() {
  if (fd_ >= 0) ::close(fd_);
}

void Wake::kick() {
  if (!asleep_ || kicked_) return;
  const std::uint64_t one = 1;
  kicked_ = ::write(fd_, &one, sizeof one) == sizeof one;
}

void Wake::awake() {
  asleep_ = false;
  if (!kicked_) return;
  std::uint64_t count = 0;
  kicked_ = ::read(fd_, &count, sizeof count) < 0 && errno == EINTR;
}

Driver::Impl::Impl(std::unique_ptr<Endpoint> taken)
    : endpoint(std::move(taken)), owner(::getpid()) {
  sink = [this](const Address&, std::span<const std::byte> datagram) { route(datagram); };
}

bool Driver::Impl::in_owner() const { return ::getpid() == owner; }

Driver::Driver() = default;

base::Result<std::unique_ptr<Driver>> Driver::create(std::unique_ptr<Endpoint> endpoint,
                                                     bool responder) {
  std::unique_ptr<Driver> driver(new Driver);
  driver->impl_ = std::make_unique<Impl>(std::move(endpoint));
  if (driver->impl_->driver_wake.fd() < 0 || driver->impl_->responder_poll.fd() < 0) {
    return base::io_error(fmt::format("cannot open an eventfd: {}", std::strerror(errno)));
  }
  if (!responder) return driver;
  if (base::Status started = driver->impl_->start_responder(); !started) return started.error();
  return driver;
}

Driver::~Driver() {
  if (impl_ == nullptr) return;
  if (!impl_->in_owner()) {
    // The thread does not exist here and the lock may be held by it for ever: leave all as it is.
    static_cast<void>(impl_.release());
    return;
  }
  impl_->stop_responder();
}

std::uint16_t Driver::reserve_set() {
  if (!impl_->in_owner()) return 0;
  const Lock lock(impl_->mutex);
  return impl_->sets.reserve();
}

void Driver::add_set(std::uint16_t set, PeerSet peers) {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  impl_->sets.add(set, std::move(peers));
}

void Driver::remove_set(std::uint16_t set) {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  SetEntry* gone = impl_->sets.retire(set);
  if (gone == nullptr) return;
  assert(!gone->running);
  impl_->outbox.drop(*gone);
  impl_->sets.drop(gone);
}

base::Status Driver::run(std::uint16_t set, const transport::Exchange& exchange,
                         const Progress& progress, const Warn& warn, base::Nanos deadline) {
  if (base::Status started = start(set, exchange); !started) return started;
  while (true) {
    const auto event = await({&set, 1}, progress, warn, deadline);
    if (!event.ok()) return event.error();
    if (!event.value().arrived) return {};
  }
}

base::Status Driver::start(std::uint16_t set, const transport::Exchange& exchange) {
  Impl& self = *impl_;
  if (!self.in_owner()) return forked();
  const Lock lock(self.mutex);
  SetEntry* entry = self.sets.find(set);
  if (base::Status fit = self.startable(entry, set); !fit) return fit;
  const base::Nanos now = monotonic_now();
  self.note_deafness(now);
  entry->running = true;
  entry->finished = false;
  entry->begun = now;
  entry->next_progress = now + kProgressInterval;
  entry->next_check = now + kCheckInterval;
  entry->channel.start(now, exchange);
  self.attend(*entry);
  return {};
}

base::Status Driver::Impl::startable(SetEntry* entry, std::uint16_t set) {
  if (entry == nullptr) {
    return base::bad_input(fmt::format("no peers are registered under set {}", set));
  }
  if (entry->running) return base::bad_input(fmt::format("set {} already runs an exchange", set));
  if (notice_mismatch(*entry) || entry->failure) return *entry->failure;
  return {};
}

void Driver::make_ready(std::uint16_t set, transport::PeerId peer) {
  Impl& self = *impl_;
  if (!self.in_owner()) return;
  const Lock lock(self.mutex);
  SetEntry* entry = self.sets.find(set);
  if (entry == nullptr || !entry->running) return;
  entry->channel.make_ready(peer);
  self.attend(*entry);
}

// It has something to send: whoever sleeps at the sockets is to see to it.
void Driver::Impl::attend(SetEntry& entry) {
  entry.attention = true;
  driver_wake.kick();
  responder_poll.kick();
}

base::Result<Driver::Event> Driver::await(std::span<const std::uint16_t> sets,
                                          const Progress& progress, const Warn& warn,
                                          base::Nanos deadline) {
  Impl& self = *impl_;
  if (!self.in_owner()) return forked();
  Lock lock(self.mutex);
  Call call{sets, progress, warn, deadline};
  bool runs = false;
  SetEntry* failed = nullptr;
  for (const std::uint16_t set : sets) {
    SetEntry* entry = self.sets.find(set);
    if (entry == nullptr) {
      return base::bad_input(fmt::format("no peers are registered under set {}", set));
    }
    if (entry->failure) failed = entry;
    if (!entry->running) continue;
    runs = true;
    call.next_progress = std::max(call.next_progress, entry->next_progress);
  }
  if (failed != nullptr) {
    self.fail(call, *failed, *failed->failure, failed->lost);
    return call.status.error();
  }
  if (!runs) return base::bad_input("none of the awaited sets runs an exchange");
  if (self.find_event(call)) return *call.event;
  self.begin_call();
  self.now = monotonic_now();
  self.serve(lock, call);
  for (const std::uint16_t set : sets) self.sets.find(set)->next_progress = call.next_progress;
  self.end_call(self.now);
  if (!call.status) return call.status.error();
  return *call.event;
}

void Driver::begin(std::span<const std::uint16_t> sets, std::uint64_t call,
                   std::optional<std::uint64_t> elsewhere) {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  for (const std::uint16_t set : sets) {
    SetEntry* entry = impl_->sets.find(set);
    if (entry == nullptr) continue;
    entry->call = call;
    entry->channel.be_elsewhere(
        elsewhere ? std::optional(transport::Engine::Elsewhere{call, *elsewhere}) : std::nullopt);
  }
}

base::Status Driver::trouble(std::uint16_t set) {
  if (!impl_->in_owner()) return {};
  const Lock lock(impl_->mutex);
  SetEntry* entry = impl_->sets.find(set);
  if (entry == nullptr || !impl_->notice_mismatch(*entry)) return {};
  return *entry->failure;
}

bool Driver::settle(base::Nanos deadline, const Progress& progress) {
  Impl& self = *impl_;
  if (!self.in_owner()) return false;
  Lock lock(self.mutex);
  self.begin_call();
  self.now = monotonic_now();
  const Warn silent;
  Call call{{}, progress, silent, deadline, self.now + kProgressInterval};
  self.serve(lock, call);
  self.end_call(self.now);
  return self.all_settled();
}

void Driver::Impl::begin_call() {
  ++calls;
  ++calls_begun;
  responder_poll.kick();
}

void Driver::Impl::end_call(base::Nanos at) {
  --calls;
  last_call_end = at;
  if (!responder_deep || calls > 0) return;
  responder_deep = false;
  responder_wake.notify_one();
}

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
      if (waiting > 0) turn_over.notify_all();
    }
  }
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
  lock.unlock();
  if (progress) call.progress();
  for (const std::string& text : warnings) {
    if (call.warn) call.warn(text);
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
    block(lock, until, driver_wake, &read);
  }
}

// Another thread drives, these exchanges too.
void Driver::Impl::await_turn(Lock& lock, Call& call) {
  // It may sleep without knowing what we have to send.
  if (wants_attention(call)) driver_wake.kick();
  ++waiting;
  turn_over.wait_for(lock, kTurnInterval, [&] { return !driving || find_event(call); });
  --waiting;
  now = monotonic_now();
  update(call);
}

void Driver::Impl::receive() {
  note_deafness(now);
  endpoint->receive(sink);
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
    other = true;
  }
  if (other && waiting > 0) turn_over.notify_all();
}

base::Nanos Driver::Impl::earliest_deadline() const {
  base::Nanos earliest = base::kNever;
  // While datagrams wait for the kernel the channels are not asked for more: nor do their timers
  // count.
  if (!outbox.empty()) return earliest;
  for (const SetEntry* entry : sets.live()) earliest = std::min(earliest, entry->deadline);
  return earliest;
}

bool Driver::Impl::all_settled() const {
  return std::all_of(sets.live().begin(), sets.live().end(), [](const SetEntry* entry) {
    return entry->failure || (entry->queued == 0 && entry->channel.settled());
  });
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
    const std::string who = entry.name_of(entry.numbers[failure->peer]);
    if (failure->told) {
      const std::string lost = entry.name_of(*failure->told);
      return fail(call, entry,
                  {base::ErrorCode::kPeerLost,
                   lost == who ? fmt::format("{} has given up, and says why", who)
                               : fmt::format("{} is lost, as {} has found", lost, who)},
                  *failure->told);
    }
    if (failure->fatal) {
      return fail(call, entry,
                  {base::ErrorCode::kPeerLost,
                   fmt::format("{} is lost: silent for {:.1f} s (ALLEMANDE_PEER_TIMEOUT_S)", who,
                               seconds(failure->silent))},
                  entry.numbers[failure->peer]);
    }
    call.warnings.push_back(
        fmt::format("{} silent for {:.1f} s; waiting until {:.0f} s (ALLEMANDE_PEER_TIMEOUT_S)",
                    who, seconds(failure->silent), seconds(config.peer_timeout)));
  }
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
  const base::Nanos limit = monotonic_now() + kTellingMax;
  bool read = false;
  for (now = monotonic_now(); now < limit; now = monotonic_now()) {
    if (read) receive();
    if (!pump() && outbox.empty()) break;
    if (!outbox.empty()) block(lock, limit, driver_wake, &read);
  }
  driving = false;
  if (waiting > 0) turn_over.notify_all();
  end_call(now);
}

void Driver::share_failure(std::span<const std::uint16_t> sets) {
  if (!impl_->in_owner()) return;
  Lock lock(impl_->mutex);
  const SetEntry* failed = nullptr;
  for (const std::uint16_t set : sets) {
    const SetEntry* entry = impl_->sets.find(set);
    if (entry != nullptr && entry->lost) failed = entry;
  }
  if (failed == nullptr) return;
  impl_->give_up_all(lock, sets, *failed->failure, *failed->lost);
}

void Driver::give_up(std::span<const std::uint16_t> sets, const base::Error& failure,
                     std::uint32_t lost) {
  if (!impl_->in_owner()) return;
  Lock lock(impl_->mutex);
  impl_->give_up_all(lock, sets, failure, lost);
}

void Driver::Impl::give_up_all(Lock& lock, std::span<const std::uint16_t> numbers,
                               const base::Error& error, std::uint32_t lost) {
  for (const std::uint16_t set : numbers) {
    SetEntry* entry = sets.find(set);
    if (entry != nullptr && !entry->failure) give_up(*entry, error, lost);
  }
  tell(lock);
}

// Blocks without the lock. Sets `read` to whether the sockets are worth reading.
void Driver::Impl::block(Lock& lock, base::Nanos until, Wake& wake, bool* read) {
  // With the queue full there is nothing to do with what comes in: let it gather until half has
  // drained. That halves the wake-ups of a busy host.
  const bool want_write = !outbox.empty();
  const bool poll_read = !(want_write && endpoint->send_blocked());
  const base::Nanos begin = monotonic_now();
  if (!poll_read) until = std::min(until, begin + kProgressInterval);  // should it never drain
  const WaitPlan plan = endpoint->plan_wait(begin, until, want_write, wake.fd(), poll_read);
  wake.sleep();
  listened_until = std::max(begin, until);
  lock.unlock();
  const Ready ready = endpoint->block(plan);
  lock.lock();
  wake.awake();
  if (ready.error) endpoint->clear_errors();
  *read = ready.readable || !poll_read;
  // What came after the end of the wait has been looked at by nobody. Nothing did, if nothing is
  // there.
  const base::Nanos end = monotonic_now();
  listened_until = *read ? std::min(end, std::max(begin, until)) : end;
  may_send = !want_write || ready.writable || ready.error;
}

transport::Counters Driver::counters(std::uint16_t set) const {
  if (!impl_->in_owner()) return {};
  const Lock lock(impl_->mutex);
  const SetEntry* entry = impl_->sets.find(set);
  return entry == nullptr ? transport::Counters{} : entry->channel.counters();
}

EndpointCounters Driver::endpoint_counters() const {
  if (!impl_->in_owner()) return {};
  const Lock lock(impl_->mutex);
  return impl_->endpoint->counters();
}

DriverCounters Driver::driver_counters() const {
  if (!impl_->in_owner()) return {};
  const Lock lock(impl_->mutex);
  return impl_->counters;
}

const Endpoint& Driver::endpoint() const { return *impl_->endpoint; }

}  // namespace alm::io
