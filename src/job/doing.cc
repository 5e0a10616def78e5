#include "job/doing.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "transport/io/endpoint.h"

namespace alm::job {
namespace {

constexpr std::array<std::string_view, 13> kCalls{
    "MPI_Alltoall",          "MPI_Alltoallv",          "MPI_Alltoallw",
    "MPI_Ialltoall",         "MPI_Ialltoallv",         "MPI_Ialltoallw",
    "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw",
    "MPI_Alltoall_init",     "MPI_Alltoallv_init",     "MPI_Alltoallw_init",
    "MPI_Finalize"};

// Numbers for others. kInCall and what follows: calls, in their order.
constexpr std::uint64_t kNotKnown = 0, kComputes = 1, kSleeps = 2, kInCall = 16;

constexpr base::Nanos kLook = 50 * base::kMillisecond;
constexpr std::int64_t kPartOfBusy = 4;  // a quarter of the time on a processor is busy

}  // namespace

Doing::InCall::InCall(Doing& doing, std::string_view name) : doing_(doing), before_(doing.call_) {
  ++doing_.inside_;
  const auto found = std::find(kCalls.begin(), kCalls.end(), name);
  if (found != kCalls.end()) {
    doing_.call_ = static_cast<std::uint8_t>(found - kCalls.begin() + 1);
  }
}

// Threads may leave in another order than they came: the last one to leave leaves nothing behind.
Doing::InCall::~InCall() { doing_.call_ = --doing_.inside_ == 0 ? std::uint8_t{0} : before_; }

std::uint64_t Doing::now(base::Nanos clock, base::Nanos used) {
  if (looked_ == 0 || clock - looked_ >= kLook) {
    if (looked_ != 0) {
      seen_ = (used - used_) * kPartOfBusy >= clock - looked_ ? kComputes : kSleeps;
    }
    looked_ = clock;
    used_ = used;
  }
  const std::uint8_t call = call_;
  return call != 0 ? kInCall + call - 1 : seen_;
}

std::uint64_t Doing::now() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return now(io::monotonic_now(), used.tv_sec * base::kSecond + used.tv_nsec);
}

std::string Doing::text(std::uint64_t what) {
  if (what >= kInCall && what - kInCall < kCalls.size()) {
    return "it is in " + std::string(kCalls[what - kInCall]);
  }
  if (what == kComputes) {
    return "it uses a processor: it computes, or waits in a call that allemande does not see";
  }
  if (what == kSleeps) {
    return "it uses no processor: it sleeps, or waits in a call that allemande does not see";
  }
  return "its process answers, and computes or is in another call";
}

}  // namespace alm::job
