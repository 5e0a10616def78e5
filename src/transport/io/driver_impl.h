// The state behind Driver, shared by the files that implement it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/looks.h"
#include "base/waiters.h"
#include "transport/io/driver.h"
#include "transport/io/hops.h"
#include "transport/io/outbox.h"
#include "transport/io/set_table.h"

namespace alm::io {

// How often `progress` is called, and every peer checked.
constexpr base::Nanos kProgressInterval = base::kMillisecond;
constexpr base::Nanos kCheckInterval = 100 * base::kMillisecond;
// Shorter waits would cost more time than they save.
constexpr base::Nanos kGatherMin = 100 * base::kMicrosecond;
// Shorter times in which nobody reads are normal.
constexpr base::Nanos kDeafMin = 20 * base::kMillisecond;

// An eventfd that ends another thread's ppoll, with at most one write per wait.
class Wake {
 public:
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  int fd() const { return fd_; }
  // All three under the driver's lock.
  void sleep() { asleep_ = true; }
  void kick();
  void awake();

 private:
  int fd_;
  bool asleep_ = false, kicked_ = false;
};

using Lock = std::unique_lock<std::mutex>;

// One thread inside run(), await() or settle().
struct Call {
  std::span<const std::uint16_t> sets;  // empty: settle() or fill()
  const Driver::Progress& progress;
  const Driver::Warn& warn;
  base::Nanos deadline;
  base::Nanos next_progress = 0;
  std::optional<Driver::Event> event{};
  base::Status status{};
  std::vector<std::string> warnings{};  // for `warn`
  bool over = false;
  SetEntry* fills = nullptr;  // of fill(): what it sends to this set must have left
  base::Nanos gives_up = 0;   // then it has to
};

struct Driver::Impl {
  Impl(std::unique_ptr<Endpoint> taken, double times);

  bool in_owner() const;  // false in a forked child

  // driver.cc
  bool hurries(std::uint64_t bytes);
  base::Status startable(SetEntry* entry, std::uint16_t set);
  void attend(SetEntry& entry);
  void begin_call();
  // driver_loop.cc
  void serve(Lock& lock, Call& call);
  bool owes(const Call& call) const;
  void pay(Lock& lock, Call& call);
  void drive(Lock& lock, Call& call);
  bool news_before_sleep(base::Nanos until);
  bool packets_come_soon() const;
  void await_turn(Lock& lock, Call& call);
  bool receive();
  void note_deafness(base::Nanos at);
  void route(std::span<const std::byte> datagram);
  bool pump();
  void finish_complete();
  base::Nanos earliest_deadline() const;
  bool wants_attention(const Call& call) const;
  base::Nanos next_check(const Call& call) const;
  base::Nanos gathers_until(base::Nanos at) const;
  void block(Lock& lock, base::Nanos until, Wake& wake, bool* read);
  // driver_hops.cc
  void ask(Lock& lock, HopAsker& hops);
  // driver_events.cc
  bool all_settled() const;
  bool find_event(Call& call);
  void update(Call& call);
  void check_peers(Call& call, SetEntry& entry);
  void tell_absent(Call& call, SetEntry& entry);
  void fail(Call& call, SetEntry& entry, base::Error error, std::optional<std::uint32_t> lost);
  void give_up(SetEntry& entry, const base::Error& error, std::optional<std::uint32_t> lost);
  void give_up_all(Lock& lock, std::span<const std::uint16_t> numbers, const base::Error& error,
                   std::uint32_t lost);
  void tell(Lock& lock);
  // driver_disagreement.cc
  bool notice_mismatch(SetEntry& entry);
  std::string notice_disorder(const SetEntry& entry) const;
  std::string notice_elsewhere(const SetEntry& entry) const;

  // responder.cc
  base::Status start_responder();
  void stop_responder();
  void end_call(base::Nanos at);
  void respond();
  void respond_while_away(Lock& lock);

  mutable std::mutex mutex;
  std::unique_ptr<Endpoint> endpoint;
  Doing doing;
  const double time_scale;  // factor for times that depend on the speed of the network
  Endpoint::Sink sink;
  SetTable sets;
  Outbox outbox;
  bool several_sockets = false;       // a set has used several: all that are open are read
  bool may_send = true;               // false: the last wait ended before the queue had drained
  std::uint32_t large_exchanges = 0;  // begun so far, as far as they are counted
  DriverCounters counters;
  base::Nanos now = 0;   // read once per turn
  std::size_t turn = 0;  // which set is pulled first
  base::Looks looks;
  bool news = false;  // an arrival waits to be reported
  // Until this time somebody has read what arrived, or waits for it.
  base::Nanos listened_until = 0;
  pid_t owner;

  bool driving = false;
  bool asking = false;  // answers are in the error queues, for whoever drives
  base::Waiters<Call> waiters;
  Wake driver_wake;

  std::thread responder;
  std::condition_variable responder_wake;
  Wake responder_poll;
  bool stop = false;
  bool responder_deep = false;  // sleeps until the call in progress ends
  int calls = 0;                // threads inside run(), await() or settle()
  std::uint64_t calls_begun = 0;
  base::Nanos call_begin = 0;  // when the first of them began
  base::Nanos away_at = 0;     // after the last of them, when the responder takes over
};

}  // namespace alm::io
