#include "job/processors.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>

#include "base/text_file.h"

namespace alm::job {
namespace {

constexpr std::size_t kProcFileBytesMax = 4096;

// The number that the text begins with.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The name of a process that runs or wants to; empty: it sleeps, or is gone.
std::string running_name(const std::string& process) {
  const auto stat =
      base::read_text("/proc/" + process + "/stat", kProcFileBytesMax, "the state of a process");
  if (!stat) return {};
  const std::string& text = stat.value();
  const auto from = text.find('('), to = text.rfind(") ");
  if (from == std::string::npos || to == std::string::npos || to + 2 >= text.size()) return {};
  return text[to + 2] == 'R' ? text.substr(from + 1, to - from - 1) : std::string();
}

}  // namespace

std::uint32_t processors_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

bool ProcessorWait::found(base::Nanos now,
                          const std::function<std::optional<base::Nanos>()>& waited) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || over_) return false;
  if (thread_ == std::thread::id()) thread_ = std::this_thread::get_id();
  if (thread_ != std::this_thread::get_id()) return false;
  const bool first = calls_++ == 0;
  if (!first && (calls_ <= kCalls || now - begin_ < kSpan)) return false;
  const auto altogether = waited();
  over_ = !first || !altogether;
  if (!altogether) return false;
  if (first) {
    begin_ = now;
    waited_ = *altogether;
    return false;
  }
  percent_ = static_cast<std::uint32_t>(100 * (*altogether - waited_) / (now - begin_));
  return percent_ >= kMost;
}

std::optional<base::Nanos> waited_in(std::string_view schedstat) {
  const auto second = schedstat.find(' ');
  if (second == std::string_view::npos) return std::nullopt;
  const auto number = leading_number(schedstat.substr(second + 1));
  return number ? std::optional(static_cast<base::Nanos>(*number)) : std::nullopt;
}

std::optional<base::Nanos> waited_for_processor() {
  const auto text = base::read_text("/proc/thread-self/schedstat", kProcFileBytesMax,
                                    "how long this thread has waited for a processor");
  return text ? waited_in(text.value()) : std::nullopt;
}

std::vector<std::pair<std::string, std::uint32_t>> running_processes() {
  std::map<std::string, std::uint32_t> counts;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const std::string name = running_name(entry->d_name);
    if (!name.empty()) ++counts[name];
  }
  std::vector<std::pair<std::string, std::uint32_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

std::string crowded_text(std::uint32_t percent, std::uint32_t processors,
                         const std::vector<std::pair<std::string, std::uint32_t>>& running,
                         std::string_view library) {
  std::uint32_t all = 0;
  for (const auto& [name, count] : running) all += count;
  std::string text = fmt::format(
      "ranks wait for a processor {} % of the time: {} processors, and {} processes that run or "
      "want to",
      percent, processors, all);
  if (!running.empty()) {
    text += fmt::format(", {} of them {}", running.front().second, running.front().first);
  }
  if (library.find("MPICH") != std::string_view::npos) {
    text += "; ranks that wait in MPICH poll, and do not yield it";
  }
  return text;
}

}  // namespace alm::job
