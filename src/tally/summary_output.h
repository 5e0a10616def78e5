// Where the summary goes, and that it gets there however the process ends: at MPI_Finalize, at
// MPI_Abort, when the program ends without either, or by a signal that ends it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "tally/tally.h"

namespace alm::tally {

class SummaryOutput {
 public:
  explicit SummaryOutput(const Tally& tally) : tally_(tally) {}
  ~SummaryOutput();
  SummaryOutput(const SummaryOutput&) = delete;
  SummaryOutput& operator=(const SummaryOutput&) = delete;

  // `path` empty: standard error. `at_signals`: also when a signal ends the process.
  void begin(std::string path, std::uint32_t rank, std::uint32_t ranks, bool at_signals);
  bool begun() const { return begun_; }

  // The summary, once. `end` says what ends the process: "at MPI_Finalize".
  void say(const char* end);

  // Writes the file anew where that is due: what ends a process at once leaves no time for it.
  void refresh(base::Nanos now);

  // Whether the file could not be written.
  bool failed() const { return failed_; }
  const std::string& path() const { return path_; }

 private:
  bool is_ours() const;
  void write(const char* end);
  void disarm();

  const Tally& tally_;
  bool begun_ = false;
  pid_t process_ = 0;  // that has begun it
  std::string path_, part_;
  std::uint32_t rank_ = 0, ranks_ = 0;
  std::atomic<bool> said_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<base::Nanos> due_ = 0;  // when the file is to be written next
  bool armed_ = false;
};

}  // namespace alm::tally
