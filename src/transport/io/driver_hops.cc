// Asks routers, in the place of the thread that drives: the error queues are its to read.
#include "transport/io/driver_impl.h"
#include "transport/io/hops.h"

namespace alm::io {

void Driver::ask_routers(HopAsker& hops) {
  Impl& self = *impl_;
  if (!self.in_owner()) return;
  Lock lock(self.mutex);
  self.begin_call();
  while (self.driving) {
    self.waiters.wait(lock, nullptr, [&self] { return !self.driving; });
  }
  self.driving = self.asking = true;
  const std::uint32_t listened = self.endpoint->listening();
  self.endpoint->listen(self.endpoint->paths());
  self.now = monotonic_now();
  static_cast<void>(self.endpoint->read_answers());  // to questions of before
  hops.begin(self.now);
  while (!hops.done(self.now)) {
    self.ask(lock, hops);
    self.now = monotonic_now();
  }
  if (!self.several_sockets) self.endpoint->listen(listened);
  self.driving = self.asking = false;
  self.waiters.hand_over();
  self.end_call(self.now);
}

void Driver::Impl::ask(Lock& lock, HopAsker& hops) {
  receive();
  const bool more = pump();
  finish_complete();
  bool full = false;
  while (const auto question = full ? std::nullopt : hops.next(now)) {
    full = !endpoint->ask(*question);  // without an answer it is asked again
  }
  const base::Nanos until = more ? now : std::min(hops.deadline(), earliest_deadline());
  const WaitPlan plan = endpoint->plan_wait(now, until, !outbox.empty(), driver_wake.fd());
  driver_wake.sleep();
  lock.unlock();
  const Ready ready = endpoint->block(plan);
  lock.lock();
  driver_wake.awake();
  may_send = outbox.empty() || ready.writable || ready.error;
  for (const HopAnswer& answer : endpoint->read_answers()) hops.answered(answer);
}

}  // namespace alm::io
