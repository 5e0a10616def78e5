#include "courier/failure.h"

#include <fmt/format.h>

#include <string>

namespace alm::courier {

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

}  // namespace alm::courier
