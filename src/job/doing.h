// What this process does while others wait for it: which of the calls that allemande carries it is
// in, and else whether it uses a processor. Calls of the MPI library that allemande does not carry
// are not seen: a process that waits in one computes, if the library looks all the time, or sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace alm::job {

class Doing {
 public:
  // From construction to destruction the process is in this call, one of kCalls. With
  // several threads the call that was entered last counts.
  class InCall {
   public:
    InCall(Doing& doing, std::string_view name);
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    Doing& doing_;
    std::uint8_t before_;
  };

  // For other processes. One thread at a time; `clock`: monotonic, `used`: processor time of the
  // process.
  std::uint64_t now(base::Nanos clock, base::Nanos used);
  std::uint64_t now();
  // For people: "it is in MPI_Finalize".
  static std::string text(std::uint64_t what);

 private:
  std::atomic<std::uint8_t> call_{0};  // 1 + its place in kCalls; 0: none
  std::atomic<int> inside_{0};         // threads in calls
  base::Nanos looked_ = 0, used_ = 0;  // when `now` has looked last, and what was used until then
  std::uint64_t seen_ = 0;             // what it has seen
};

}  // namespace alm::job
