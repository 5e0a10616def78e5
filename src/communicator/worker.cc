#include "communicator/worker.h"

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

bool Worker::idle() const {
  const std::lock_guard lock(mutex_);
  return !busy_ && tasks_.empty();
}

void Worker::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return !busy_ && tasks_.empty(); });
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      task();
    }  // what the task has held is let go of before anybody takes it for done
    lock.lock();
    busy_ = false;
    if (tasks_.empty()) drained_.notify_all();
  }
}

}  // namespace alm::communicator
