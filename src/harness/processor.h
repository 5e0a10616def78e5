// The processor of a simulated host: it does tasks one after the other, in the order in which they
// came up, and each takes its time.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "sim/time.h"

namespace alm::harness {

template <class Task>
class Processor {
 public:
  void add(sim::Picos now, sim::Picos takes, Task task) {
    free_ = std::max(free_, now) + takes;
    tasks_.push_back({free_, std::move(task)});
  }
  // When the first task is done.
  sim::Picos next() const { return tasks_.empty() ? sim::kNever : tasks_.front().first; }
  // Precondition: next() has passed.
  Task take() {
    Task task = std::move(tasks_.front().second);
    tasks_.pop_front();
    return task;
  }

 private:
  std::deque<std::pair<sim::Picos, Task>> tasks_;  // with the times at which they are done
  sim::Picos free_ = 0;
};

}  // namespace alm::harness
