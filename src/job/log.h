// Writes messages to standard error, one line each, or to a sink.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace alm::job {

inline constexpr std::chrono::milliseconds kForwarding{100};
// Comes before an end of the job by this process. Launchers end their helpers at once, with what
// these have not forwarded yet: under Hydra 5.0 a line written right before MPI_Abort was lost in 3
// jobs of 60 on busy processors.
void await_forwarding();

enum class LogLevel { kError, kWarning, kInfo, kDebug };

class Log {
 public:
  Log() = default;
  // Takes messages, without the prefix, in place of standard error. Any thread.
  using Sink = std::function<void(LogLevel level, std::string_view text)>;
  // `who` names the process ("rank 3 (h3)"); `level` is a value of the option `log`.
  Log(std::string who, std::string_view level, Sink sink = {});

  void error(std::string_view text) const { write(LogLevel::kError, text); }
  void warning(std::string_view text) const { write(LogLevel::kWarning, text); }
  void info(std::string_view text) const { write(LogLevel::kInfo, text); }
  void debug(std::string_view text) const { write(LogLevel::kDebug, text); }
  bool shows(LogLevel level) const { return level <= level_; }
  const std::string& who() const { return who_; }

 private:
  void write(LogLevel level, std::string_view text) const;

  std::string who_;
  LogLevel level_ = LogLevel::kWarning;
  Sink sink_;
};

}  // namespace alm::job
