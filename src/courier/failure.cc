#include "courier/failure.h"

#include <fmt/format.h>

#include <new>
#include <string>

namespace alm::courier {

base::Error error_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return base::io_error("no memory for a copy of what is exchanged");
  }
  return base::io_error(thrown.what());
}

const base::Error& Failure::give_up(const char* function, const base::Error& error) {
  if (happened()) return error_;
  const std::string text = fmt::format("{} failed: {}", function, error.message);
  job_.log.error(text);
  error_ = {error.code, "allemande: " + text};
  happened_ = true;
  courier_.share_failure();
  courier_.close();
  return error_;
}

const base::Error& Failure::withdraw(const char* function, const base::Error& error) {
  if (happened()) return error_;
  const base::Error named{error.code, members_.name_of(members_.self) + ": " + error.message};
  courier_.tell_others(named);
  return give_up(function, named);
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
