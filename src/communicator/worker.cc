#include "communicator/worker.h"

#include <chrono>
#include <utility>

#include "base/blocked_signals.h"

namespace alm::communicator {

Worker::Worker(job::StartThread start) {
  const base::BlockedSignals blocked;
  thread_ = start([this] { work(); });
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Worker::queue(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Worker::watch(Watch watch) {
  {
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [this] { return !busy_; });
    watch_ = std::move(watch);
    look_after_ = 0;
    called_ = false;
  }
  wake_.notify_one();
}

void Worker::look() {
  {
    const std::lock_guard lock(mutex_);
    called_ = true;
  }
  wake_.notify_one();
}

bool Worker::idle() const {
  const std::lock_guard lock(mutex_);
  return !busy_ && !called_ && tasks_.empty();
}

void Worker::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return !busy_ && !called_ && tasks_.empty(); });
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (watch_) {
      // A new one is looked at once: watch() sets 0.
      wake_.wait_for(lock, std::chrono::nanoseconds(look_after_),
                     [this] { return called() || look_after_ == 0; });
    } else {
      wake_.wait(lock, [this] { return called() || watch_; });
    }
    if (stop_ && tasks_.empty()) return;
    busy_ = true;
    if (!tasks_.empty()) {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    } else if (watch_) {
      const Watch watch = watch_;
      const bool called = std::exchange(called_, false);
      lock.unlock();
      const base::Nanos after = watch(called);
      lock.lock();
      look_after_ = after;
      lock.unlock();
    } else {
      called_ = false;
      lock.unlock();
    }
    // What it has held is let go of before anybody takes it for done.
    lock.lock();
    busy_ = false;
    drained_.notify_all();
  }
}

}  // namespace alm::communicator
