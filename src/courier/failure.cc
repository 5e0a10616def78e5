#include "courier/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "ways/plan_settings.h"

namespace alm::courier {
namespace {

constexpr base::Nanos kNotice = 200 * base::kMillisecond;  // a datagram is under way, mostly

}  // namespace

base::Error error_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return base::io_error("no memory for a copy of what is exchanged");
  }
  return base::io_error(thrown.what());
}

const base::Error& Failure::give_up(const char* function, const base::Error& error) {
  if (happened()) return error_;
  // What has ended this exchange may say less.
  const auto fit = courier_.sizes_fit();
  follows_ = !fit && can_follow();
  const base::Error& cause = follows_ ? fit.error() : error;
  const std::string text = fmt::format("{} failed: {}", function, cause.message);
  job_.log.error(text);
  error_ = {cause.code, "allemande: " + text};
  happened_ = true;
  // After a death nobody goes on, and MPI may not bear messages to the dead.
  courier_.share_failure(follows_);
  courier_.close();
  return error_;
}

// Where hosts are shared, and over MPI messages, all ranks fail in the same call. Ranks at other
// sites may not hear why this one has failed.
bool Failure::can_follow() const {
  return ways::wants_trials(job_.options) && job_.mpi != nullptr && courier_.has_udp() &&
         members_.placement.most() == 1 && members_.sites.empty();
}

const base::Error& Failure::withdraw(const char* function, const base::Error& error) {
  if (!happened()) {
    const base::Error named{error.code, members_.name_of(members_.self) + ": " + error.message};
    courier_.tell_others(named);
    give_up(function, named);
  }
  follows_ = false;
  return error_;
}

base::Status Failure::agree_on_most(const char* function, std::span<std::uint64_t> words) {
  std::vector<std::uint64_t> all(words.begin(), words.end());
  all.push_back(happened() ? 1 : 0);
  if (job_.bootstrap.allreduce_max(comm_, all) != job::kMpiSuccess) {
    return base::io_error("MPI_Allreduce of times or loads failed");
  }
  if (all.back() != 0) {
    // The sizes come over UDP.
    const std::chrono::nanoseconds notice(base::slowed(kNotice, job_.options.time_scale));
    const auto until = std::chrono::steady_clock::now() + notice;
    while (!happened() && courier_.sizes_fit() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    give_up(function, base::bad_input("two ranks do not agree on the size of a block"));
    follows_ = false;
    return error_;
  }
  std::copy_n(all.begin(), words.size(), words.begin());
  return {};
}

job::Outcome Failure::guarded(const char* function, const std::function<job::Outcome()>& carry) {
  if (happened()) return {job::kMpiSuccess, error_};
  try {
    return carry();
  } catch (const std::exception& thrown) {
    return {job::kMpiSuccess, withdraw(function, error_of(thrown))};
  }
}

}  // namespace alm::courier
