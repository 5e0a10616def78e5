// Writes messages to standard error, one line each, or to a sink.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace alm::job {

// How long launchers may take to forward a line. They end their helpers at once where a process
// calls MPI_Abort, with what these have not forwarded yet: under Hydra 5.0 a line written right
// before was lost in 3 jobs of 60 on busy processors.
inline constexpr std::chrono::milliseconds kForwarding{100};
// This process has written a line to standard error. Any thread.
void note_written();
// Comes before MPI_Abort: returns when the latest line has had that time.
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
