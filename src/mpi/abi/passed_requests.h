// Persistent calls that the library carries itself, for the statistics: each start is a call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "job/ops.h"
#include "tally/tally.h"

namespace alm::mpi {

class PassedRequests {
 public:
  struct Call {
    tally::Function function = tally::Function::kAlltoallInit;
    std::uint64_t bytes = 0;
  };

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  void add(job::RequestHandle request, Call call) {
    const std::lock_guard lock(mutex_);
    calls_[request] = call;
    count_ = calls_.size();
  }
  std::optional<Call> find(job::RequestHandle request) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(request);
    return found == calls_.end() ? std::nullopt : std::optional(found->second);
  }
  void erase(job::RequestHandle request) {
    const std::lock_guard lock(mutex_);
    calls_.erase(request);
    count_ = calls_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<job::RequestHandle, Call> calls_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace alm::mpi
