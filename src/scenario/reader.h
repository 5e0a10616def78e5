// Reads a table of options key by key, each by a rule that says what it may hold.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scenario/value.h"
#include "sim/time.h"

namespace alm::scenario {

// Whether `value` is of the type, and what it is then.
bool is_a(const Value& value, bool& out);
bool is_a(const Value& value, std::uint64_t& out);
bool is_a(const Value& value, std::uint32_t& out);
bool is_a(const Value& value, double& out);
bool is_a(const Value& value, std::string& out);
template <class T>
bool is_a(const Value& value, std::vector<T>& out) {
  const auto* list = std::get_if<List>(&value.held);
  if (list == nullptr) return false;
  out.clear();
  out.reserve(list->size());
  for (const Value& one : *list) {
    T held{};
    if (!is_a(one, held)) return false;
    out.push_back(std::move(held));
  }
  return true;
}

// --- Rules

struct Flag {};
struct Name {};  // any
struct Count {
  std::uint64_t least = 0, most = 0;
};
struct Number {
  double least = 0, most = 0;
  bool above = false;  // `least` itself is not allowed
};
struct Time {
  sim::Picos unit = 0;
};
struct OneOf {
  std::vector<std::string_view> names;
};
struct ListOf {
  std::string_view what;  // for messages: "pairs" is no list of ...
};
template <class T>
struct Parsed {
  base::Result<T> (*parse)(std::string_view);
};
template <class T>
struct TablesOf {  // a list of tables
  T (*read)(class Reader&);
};
template <class T>
struct TableOf {
  T (*read)(class Reader&);
};

inline constexpr std::uint64_t kCountMax = 1u << 30;

inline Count count(std::uint64_t least = 0, std::uint64_t most = kCountMax) {
  return {least, most};
}
inline Number number(double least, double most) { return {least, most}; }
inline Number number_above(double least, double most) { return {least, most, true}; }
template <class... Names>
OneOf one_of(Names... names) {
  return {{std::string_view(names)...}};
}
template <class T>
Parsed<T> parsed(base::Result<T> (*parse)(std::string_view)) {
  return {parse};
}
template <class T>
TablesOf<T> tables(T (*read)(Reader&)) {
  return {read};
}
template <class T>
TableOf<T> table(T (*read)(Reader&)) {
  return {read};
}

// The first thing that is wrong is kept, and what is read after it does not matter: finish() gives
// it. `values` must outlive this.
class Reader {
 public:
  Reader(const Table& values, std::string where) : values_(values), where_(std::move(where)) {}

  // A key that is not given, or given as nothing, leaves `out` as it is.
  void read(const char* key, bool& out, Flag rule);
  void read(const char* key, std::string& out, Name rule);
  void read(const char* key, std::uint64_t& out, Count rule);
  void read(const char* key, std::uint32_t& out, Count rule);
  void read(const char* key, double& out, Number rule);
  void read(const char* key, sim::Picos& out, Time rule);
  void read(const char* key, std::string& out, const OneOf& rule);
  template <class T, class Rule>
  void read(const char* key, std::optional<T>& out, const Rule& rule) {
    if (find(key) == nullptr) return;
    T value{};
    read(key, value, rule);
    out = std::move(value);
  }
  template <class T>
  void read(const char* key, std::vector<T>& out, ListOf rule) {
    const Value* value = find(key);
    if (value != nullptr && !is_a(*value, out)) {
      out.clear();
      refuse(fmt::format("`{}` is no list of {}", key, rule.what));
    }
  }
  template <class T>
  void read(const char* key, T& out, Parsed<T> rule) {
    std::string name;
    if (!get(key, name, "a name")) return;
    auto value = rule.parse(name);
    if (value) {
      out = std::move(value).value();
    } else {
      refuse(value.error().message);
    }
  }
  template <class T>
  void read(const char* key, std::vector<T>& out, TablesOf<T> rule) {
    const Value* value = find(key);
    if (value == nullptr) return;
    const auto* list = std::get_if<List>(&value->held);
    if (list == nullptr) return refuse(fmt::format("`{}` is no list", key));
    for (const Value& one : *list) {
      read_table(one, fmt::format("{}[{}]", key, out.size()),
                 [&](Reader& reader) { out.push_back(rule.read(reader)); });
    }
  }
  template <class T>
  void read(const char* key, T& out, TableOf<T> rule) {
    const Value* value = find(key);
    if (value == nullptr) return;
    read_table(*value, key, [&](Reader& reader) { out = rule.read(reader); });
  }

  // Whether the key is given.
  bool has(const char* key) { return find(key) != nullptr; }
  void refuse(const std::string& message);
  // kBadInput: what was wrong first, or a key that nobody has asked for.
  base::Status finish();

 private:
  const Value* find(const char* key);
  template <class T>
  bool get(const char* key, T& out, std::string_view expected) {
    const Value* value = find(key);
    if (value == nullptr) return false;
    if (is_a(*value, out)) return true;
    refuse(fmt::format("`{}` is {}; expected {}", key, text_of(*value), expected));
    return false;
  }
  void read_table(const Value& value, const std::string& where,
                  const std::function<void(Reader&)>& read);

  const Table& values_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
  std::optional<base::Error> wrong_;
};

}  // namespace alm::scenario
