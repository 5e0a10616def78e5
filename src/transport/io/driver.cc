#include "transport/io/driver.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "transport/io/driver_impl.h"

namespace alm::io {
namespace {

// What a fill has not sent by the end of its time may take so much longer, at least.
constexpr base::Nanos kFillLateMax = 100 * base::kMillisecond;

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

Driver::Impl::Impl(std::unique_ptr<Endpoint> taken, double times)
    : endpoint(std::move(taken)), time_scale(times), owner(::getpid()) {
  sink = [this](const Address&, std::span<const std::byte> datagram) { route(datagram); };
}

bool Driver::Impl::in_owner() const { return ::getpid() == owner; }

Driver::Driver() = default;

base::Result<std::unique_ptr<Driver>> Driver::create(std::unique_ptr<Endpoint> endpoint,
                                                     bool responder, double time_scale) {
  std::unique_ptr<Driver> driver(new Driver);
  driver->impl_ = std::make_unique<Impl>(std::move(endpoint), time_scale);
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

void Driver::tell_doing(Doing doing) {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  impl_->doing = std::move(doing);
  if (!impl_->doing.now) return;
  for (SetEntry* entry : impl_->sets.live()) entry->channel.does(0);
}

std::uint16_t Driver::reserve_set() {
  if (!impl_->in_owner()) return 0;
  const Lock lock(impl_->mutex);
  return impl_->sets.reserve();
}

void Driver::add_set(std::uint16_t set, PeerSet peers) {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  if (peers.config.paths > 1) {
    impl_->several_sockets = true;
    impl_->endpoint->listen(impl_->endpoint->paths());
    impl_->driver_wake.kick();
    impl_->responder_poll.kick();
  }
  impl_->sets.add(set, std::move(peers));
  if (impl_->doing.now) impl_->sets.find(set)->channel.does(0);
}

base::Status Driver::open_sockets(std::uint32_t count) {
  if (!impl_->in_owner()) return forked();
  const Lock lock(impl_->mutex);
  return impl_->endpoint->open_more(count);
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
  entry->told_absent = false;
  entry->to_come = 0;
  std::uint64_t to_go = 0;
  const transport::PeerId own = entry->channel.identity().self;
  for (transport::PeerId peer = 0; peer < entry->addresses.size(); ++peer) {
    if (peer == own) continue;
    entry->to_come += exchange.recv.size_of(peer);
    to_go += exchange.send.size_of(peer);
  }
  transport::Exchange begun = exchange;
  begun.hurries = self.hurries(std::max(to_go, entry->to_come));
  begun.distrusts_file = self.endpoint->rate().refuted();
  entry->channel.start(now, begun);
  entry->to_wait = to_go - std::min(to_go, entry->channel.at_once_bytes());
  self.attend(*entry);
  return {};
}

// The first exchanges that carry much show whether the rate of the cluster file is far too low.
// Afterwards most ranks still cannot tell, where blocks differ: they keep to it.
bool Driver::Impl::hurries(std::uint64_t bytes) {
  constexpr std::uint64_t kMuch = 64 << 10;
  constexpr std::uint32_t kShowing = 2;
  const clocks::RateClaim& rate = endpoint->rate();
  if (rate.refuted() || rate.verdict() != clocks::RateClaim::Verdict::kOpen) return !rate.holds();
  if (bytes >= kMuch && large_exchanges <= kShowing) ++large_exchanges;
  return large_exchanges <= kShowing;
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
  return base::Error{base::ErrorCode::kBadInput, entry->mismatch()};
}

std::optional<Driver::Loss> Driver::loss(std::span<const std::uint16_t> sets) const {
  if (!impl_->in_owner()) return std::nullopt;
  const Lock lock(impl_->mutex);
  for (const std::uint16_t set : sets) {
    const SetEntry* entry = impl_->sets.find(set);
    if (entry == nullptr) continue;
    if (entry->failure && entry->lost) return Loss{*entry->failure, *entry->lost};
    if (const auto& told = entry->channel.told(); told && told->told) {
      return Loss{entry->told_error(told->peer, *told->told), *told->told};
    }
  }
  return std::nullopt;
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

void Driver::fill(std::uint16_t set, std::uint32_t packets, std::uint32_t bytes, base::Nanos time,
                  const Progress& progress) {
  Impl& self = *impl_;
  if (!self.in_owner()) return;
  Lock lock(self.mutex);
  SetEntry* entry = self.sets.find(set);
  if (entry == nullptr || entry->failure) return;
  entry->channel.fill(packets, bytes);
  self.attend(*entry);
  self.begin_call();
  self.now = monotonic_now();
  const Warn silent;
  Call call{{}, progress, silent, self.now + time, self.now + kProgressInterval};
  call.fills = entry;
  call.gives_up = call.deadline + std::max(time, base::slowed(kFillLateMax, self.time_scale));
  self.serve(lock, call);
  self.end_call(self.now);
}

void Driver::Impl::begin_call() {
  if (calls == 0) call_begin = monotonic_now();
  ++calls;
  ++calls_begun;
  responder_poll.kick();
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
  DriverCounters counters = impl_->counters;
  counters.waiter_looks = impl_->waiters.looks();
  return counters;
}

clocks::RateClaim Driver::rate() const {
  if (!impl_->in_owner()) return {};
  const Lock lock(impl_->mutex);
  return impl_->endpoint->rate();
}

void Driver::refute_rate() {
  if (!impl_->in_owner()) return;
  const Lock lock(impl_->mutex);
  impl_->endpoint->refute_rate();
}

const Endpoint& Driver::endpoint() const { return *impl_->endpoint; }

}  // namespace alm::io
