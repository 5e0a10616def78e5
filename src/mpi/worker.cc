#include "mpi/worker.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace alm::mpi {

Worker::Worker() {
  // Signals belong to the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

}  // namespace alm::mpi
