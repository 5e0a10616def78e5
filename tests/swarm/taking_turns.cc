#include "taking_turns.h"

#include <sys/mman.h>

#include <cassert>
#include <cstdint>
#include <utility>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace alm::swarm {
namespace {

constexpr std::size_t kStackBytes = std::size_t{512} << 10;  // as far as it is used

// ThreadSanitizer has to be told who runs, by the function that switches: hence inline.
void* make_fiber() {
#ifdef __SANITIZE_THREAD__
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
void end_fiber([[maybe_unused]] void* fiber) {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(fiber);
#endif
}
[[gnu::always_inline]] inline void* this_fiber() {
#ifdef __SANITIZE_THREAD__
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
[[gnu::always_inline]] inline void switch_to([[maybe_unused]] void* fiber) {
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(fiber, 0);
#endif
}

}  // namespace

TakingTurns::TakingTurns(std::function<void()> body) : body_(std::move(body)) {
  stack_ = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(stack_ != MAP_FAILED);
  ::getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_;
  inside_.uc_stack.ss_size = kStackBytes;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(&TakingTurns::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  fiber_inside_ = make_fiber();
}

TakingTurns::~TakingTurns() {
  assert(done_);
  end_fiber(fiber_inside_);
  ::munmap(stack_, kStackBytes);
}

// makecontext() passes numbers of 32 bits.
void TakingTurns::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<TakingTurns*>(std::uintptr_t{high} << 32 | low);
  self->body_();
  self->done_ = true;
  self->wait();  // for good
}

void TakingTurns::resume() {
  assert(!done_);
  fiber_outside_ = this_fiber();
  switch_to(fiber_inside_);
  ::swapcontext(&outside_, &inside_);
}

void TakingTurns::wait() {
  switch_to(fiber_outside_);
  ::swapcontext(&inside_, &outside_);
}

}  // namespace alm::swarm
