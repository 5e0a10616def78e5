// A body of code that waits in the middle, such as a blocking exchange, as a part of a program that
// never waits. It has a stack of its own and no thread, so that the same inputs give the same run,
// and a busy machine costs no more than anything else.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace alm::swarm {

class TakingTurns {
 public:
  // `body` begins at the first resume(). It must have ended before this does, and throws nothing.
  explicit TakingTurns(std::function<void()> body);
  ~TakingTurns();
  TakingTurns(const TakingTurns&) = delete;
  TakingTurns& operator=(const TakingTurns&) = delete;

  // From outside: until the body waits again or ends. Precondition: it has not ended.
  void resume();
  bool done() const { return done_; }

  // By the body: until it is resumed.
  void wait();

 private:
  static void enter(unsigned high, unsigned low);

  std::function<void()> body_;
  bool done_ = false;
  void* stack_ = nullptr;
  ucontext_t inside_{}, outside_{};
  void* fiber_inside_ = nullptr;  // as ThreadSanitizer knows them
  void* fiber_outside_ = nullptr;
};

}  // namespace alm::swarm
