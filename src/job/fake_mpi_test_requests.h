// For tests: requests of an MPI library that is none.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "job/ops.h"

namespace alm::job {

class FakeRequest final : public PendingRequest {
 public:
  RequestHandle handle() const override { return reinterpret_cast<RequestHandle>(state_.get()); }
  void complete(Outcome outcome) override {
    const std::lock_guard lock(state_->mutex);
    state_->outcome = std::move(outcome);
    state_->changed.notify_all();
  }

  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Outcome> outcome;

    Outcome wait() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return outcome.has_value(); });
      return *outcome;
    }
  };
  std::shared_ptr<State> state() const { return state_; }

 private:
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A test starts it and frees it as a program does.
class FakePersistent final : public PersistentRequest {
 public:
  explicit FakePersistent(std::function<void()> on_start) : on_start_(std::move(on_start)) {}

  RequestHandle handle() const override { return reinterpret_cast<RequestHandle>(this); }
  bool started() override { return is_started_; }
  bool announced() const override { return announced_; }
  void not_found() override { announced_ = false; }
  void complete(Outcome outcome) override {
    const std::lock_guard lock(mutex_);
    announced_ = is_started_ = false;
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
  bool freed() const override { return freed_; }
  void drop() override { freed_ = true; }

  // MPI_Start; `seen`: the way that is watched.
  void start(bool seen = true) {
    announced_ = seen;
    is_started_ = true;
    if (seen) on_start_();
  }
  // MPI_Wait.
  Outcome wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_started_; });
    return outcome_;
  }

 private:
  std::function<void()> on_start_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_started_ = false, announced_ = false, freed_ = false;
  Outcome outcome_;
};

}  // namespace alm::job
