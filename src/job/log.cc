#include "job/log.h"

#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

namespace alm::job {
namespace {

constexpr std::string_view label(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error: ";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kInfo:
    case LogLevel::kDebug:
      return "";
  }
  return "";
}

LogLevel parse(std::string_view level) {
  if (level == "error") return LogLevel::kError;
  if (level == "info") return LogLevel::kInfo;
  if (level == "debug") return LogLevel::kDebug;
  return LogLevel::kWarning;
}

std::atomic<std::chrono::steady_clock::time_point> written_at{};

}  // namespace

void note_written() { written_at = std::chrono::steady_clock::now(); }

void await_forwarding() { std::this_thread::sleep_until(written_at.load() + kForwarding); }

Log::Log(std::string who, std::string_view level, Sink sink)
    : who_(std::move(who)), level_(parse(level)), sink_(std::move(sink)) {}

void Log::write(LogLevel level, std::string_view text) const {
  if (!shows(level)) return;
  if (sink_) return sink_(level, text);
  std::string line = "allemande: ";
  if (!who_.empty()) line.append(who_).append(": ");
  line.append(label(level)).append(text).push_back('\n');
  // One call, so that lines of ranks that share a terminal stay whole. Where it goes wrong there is
  // nobody left to tell.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  note_written();
}

}  // namespace alm::job
