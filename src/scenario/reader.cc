#include "scenario/reader.h"

#include <cmath>
#include <vector>

namespace nb = nanobind;

namespace alm::bindings {

void refuse(const std::string& message) { throw RaisedError{base::bad_input(message)}; }

bool Reader::has(const char* key) {
  known_.insert(key);
  return values_.contains(key) && !nb::object(values_[key]).is_none();
}

std::string Reader::shown(const char* key) const {
  return nb::cast<std::string>(nb::repr(values_[key]));
}

std::uint64_t Reader::count(const char* key, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most) {
  const auto value = get<std::uint64_t>(key, otherwise, "a whole number, 0 or more");
  if (has(key) && (value < least || value > most)) {
    refuse(fmt::format("{}: `{}` is {}; expected {} to {}", where_, key, value, least, most));
  }
  return value;
}

sim::Picos Reader::time(const char* key, sim::Picos unit, double otherwise) {
  constexpr double kMost = 1e18;
  const double value = get<double>(key, otherwise, "a number");
  if (!(value >= 0 && value * static_cast<double>(unit) <= kMost)) {
    refuse(fmt::format("{}: `{}` is {}; expected a time of 0 or more", where_, key, value));
  }
  return std::llround(value * static_cast<double>(unit));
}

nb::object Reader::object(const char* key) {
  return has(key) ? nb::object(values_[key]) : nb::none();
}

void Reader::finish() const {
  for (const auto& [key, value] : values_) {
    const auto name = nb::cast<std::string>(nb::str(key));
    if (known_.count(name) > 0) continue;
    std::string valid;
    for (const std::string& one : known_) valid += (valid.empty() ? "" : ", ") + one;
    refuse(fmt::format("{}: `{}` is unknown; expected {}", where_, name, valid));
  }
}

nb::dict as_dict(const nb::handle& value, const std::string& where) {
  if (!nb::isinstance<nb::dict>(value)) refuse(where + ": expected a table of keys and values");
  return nb::cast<nb::dict>(value);
}

std::uint32_t host_named(const topology::Cluster& cluster, const std::string& name) {
  return participants(cluster, std::vector<std::string>{name}).front().value;
}

}  // namespace alm::bindings
