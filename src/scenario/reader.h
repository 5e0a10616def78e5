// Reads the options that Python passes as a dict, and raises BadInput for those that are wrong.
#pragma once

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "sim/time.h"

namespace alm::bindings {

// Throws RaisedError.
[[noreturn]] void refuse(const std::string& message);

// Reads a Python dict key by key; finish() then rejects the keys that nobody has read.
class Reader {
 public:
  Reader(const nanobind::dict& values, std::string where)
      : values_(values), where_(std::move(where)) {}

  bool has(const char* key);
  template <class T>
  T get(const char* key, T otherwise, const char* expected) {
    if (!has(key)) return otherwise;
    T value{};
    if (!nanobind::try_cast<T>(nanobind::object(values_[key]), value)) {
      refuse(fmt::format("{}: `{}` is {}; expected {}", where_, key, shown(key), expected));
    }
    return value;
  }
  std::string text(const char* key, const std::string& otherwise) {
    return get<std::string>(key, otherwise, "a name");
  }
  bool flag(const char* key, bool otherwise) { return get<bool>(key, otherwise, "true or false"); }
  std::uint64_t count(const char* key, std::uint64_t otherwise, std::uint64_t least,
                      std::uint64_t most);
  std::uint32_t count32(const char* key, std::uint32_t otherwise, std::uint64_t least = 0) {
    return static_cast<std::uint32_t>(count(key, otherwise, least, 1u << 30));
  }
  // A time in units of `unit` picoseconds.
  sim::Picos time(const char* key, sim::Picos unit, double otherwise = 0);
  nanobind::object object(const char* key);
  // Raises BadInput if the dict has a key that nobody has asked for.
  void finish() const;
  const std::string& where() const { return where_; }

 private:
  std::string shown(const char* key) const;

  const nanobind::dict& values_;
  std::string where_;
  std::set<std::string> known_;
};

nanobind::dict as_dict(const nanobind::handle& value, const std::string& where);

// The host that an option names.
std::uint32_t host_named(const topology::Cluster& cluster, const std::string& name);

}  // namespace alm::bindings
