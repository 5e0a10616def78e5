// Threads that wait while another one drives what all of them need, and that each carry a call of
// theirs. Each is woken by itself, by what concerns it: woken together, all but one would find
// nothing to do.
//
// Everything is called under one lock, that of wait().
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace alm::base {

template <class Call>
class Waiters {
 public:
  bool any() const { return !waiting_.empty(); }
  // How often one of them has looked whether its wait is over.
  std::uint64_t looks() const { return looks_; }

  // Waits until `over`, which is asked when this thread is woken, and for a while at most. `call`:
  // null where it waits for its turn to drive alone.
  template <class Over>
  void wait(std::unique_lock<std::mutex>& lock, Call* call, Over over) {
    Waiter waiter{call};
    waiting_.push_back(&waiter);
    waiter.wake.wait_for(lock, kInterval, [&] {
      ++looks_;
      return over();
    });
    std::erase(waiting_, &waiter);
  }

  // Nobody drives: the one that came first is to.
  void hand_over() {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                   [](const Waiter* waiter) { return !waiter->told; });
    if (next != waiting_.end()) (*next)->wake.notify_one();
  }
  // Wakes those whose calls have something to tell.
  template <class Tells>
  void tell(Tells tells) {
    for (Waiter* waiter : waiting_) {
      if (waiter->told || waiter->call == nullptr || !tells(*waiter->call)) continue;
      waiter->told = true;
      waiter->wake.notify_one();
    }
  }
  void wake_all() {
    for (Waiter* waiter : waiting_) waiter->wake.notify_one();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{1};

  struct Waiter {
    Call* call = nullptr;
    std::condition_variable wake{};
    bool told = false;
  };

  std::vector<Waiter*> waiting_;  // the one that came first in front
  std::uint64_t looks_ = 0;
};

}  // namespace alm::base
