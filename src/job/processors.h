// Where more processes want to run than there are processors: ranks that wait busily hold those
// that others need.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"

namespace alm::job {

// Processors that this process may use.
std::uint32_t processors_here();

// Finds out, once, whether this process waits for a processor most of the time.
class ProcessorWait {
 public:
  // Comes before every exchange. True once: the process has waited for a processor for half of the
  // time since the first. `waited` says how long it has altogether; nothing: nobody knows. It is
  // asked twice, on the thread that comes first: the kernel tells it of each.
  bool found(base::Nanos now, const std::function<std::optional<base::Nanos>()>& waited);
  bool over() const { return over_; }
  std::uint32_t percent() const { return percent_; }

 private:
  static constexpr std::uint32_t kCalls = 20;
  static constexpr base::Nanos kSpan = 200 * base::kMillisecond;
  static constexpr std::uint32_t kMost = 50;  // per cent

  std::uint32_t calls_ = 0;
  base::Nanos begin_ = 0, waited_ = 0;
  std::uint32_t percent_ = 0;
  bool over_ = false;
  std::mutex mutex_;
  std::thread::id thread_;
};

// How long this thread has been ready to run without running, by the kernel's scheduler; nothing:
// it does not tell.
std::optional<base::Nanos> waited_for_processor();
// The second word of /proc/PID/schedstat.
std::optional<base::Nanos> waited_in(std::string_view schedstat);

// The names of processes that run or want to, and how many each has, the most first. Those of other
// PID namespaces are not seen.
std::vector<std::pair<std::string, std::uint32_t>> running_processes();

// "ranks wait for a processor 71 % of the time: 2 processors, and 33 processes that run or want to,
// 32 of them alltoall_bench; ..."
std::string crowded_text(std::uint32_t percent, std::uint32_t processors,
                         const std::vector<std::pair<std::string, std::uint32_t>>& running,
                         std::string_view library);

}  // namespace alm::job
