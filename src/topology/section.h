// One table of a cluster file: typed reads of its keys that remember the first thing wrong, with
// file, line and key.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/toml.h"

namespace alm::topology {

// Keeps the first error of a file. Later ones follow from it and are dropped.
class Complaints {
 public:
  explicit Complaints(std::string_view file) : file_(file) {}

  void add(std::uint32_t line, std::string_view key, std::string_view what,
           std::string_view expected);
  bool any() const { return error_.has_value(); }
  const base::Error& first() const { return *error_; }

 private:
  std::string file_;
  std::optional<base::Error> error_;
};

struct Range {
  double low = 0, high = 0;
  bool above_low = false;  // low itself is an error
};

class Section {
 public:
  // `name` prefixes keys in messages: "link" makes `link.to`; empty for the top level.
  Section(const toml::table& table, std::string_view name, Complaints& complaints)
      : table_(table), name_(name), complaints_(complaints) {}

  // Complains about any key not in `valid`, listing those.
  void allow(std::initializer_list<std::string_view> valid);

  bool has(std::string_view key) const { return table_.contains(key); }
  std::uint32_t line() const { return table_.source().begin.line; }
  std::uint32_t line_of(std::string_view key) const;
  void complain(std::string_view key, std::string_view what, std::string_view expected);

  std::optional<std::string> text(std::string_view key);
  std::optional<double> number(std::string_view key, Range range);
  std::optional<std::uint32_t> integer(std::string_view key, std::uint32_t low, std::uint32_t high);
  // The same for counts of bytes.
  std::optional<std::uint64_t> count(std::string_view key, std::uint64_t low, std::uint64_t high);
  std::optional<bool> flag(std::string_view key);
  // Empty if the key is missing or wrong.
  std::vector<double> numbers(std::string_view key, Range range);
  void need(std::string_view key, std::string_view expected);
  // The same for text that may not be empty, either.
  std::string need_text(std::string_view key, std::string_view expected);
  // A hostlist; empty if the key is missing or wrong.
  std::vector<std::string> names(std::string_view key);
  // A hostlist, or an array of them; empty if the key is missing or wrong.
  std::vector<std::vector<std::string>> name_lists(std::string_view key);

  template <class T>
  T choice(std::string_view key, T otherwise,
           std::initializer_list<std::pair<std::string_view, T>> choices) {
    const auto found = text(key);
    if (!found) return otherwise;
    std::string valid;
    for (const auto& [word, value] : choices) {
      if (*found == word) return value;
      if (!valid.empty()) valid += ", ";
      valid += word;
    }
    complain(key, "`" + *found + "` is not known", "one of " + valid);
    return otherwise;
  }

 private:
  std::string path(std::string_view key) const;
  std::vector<std::string> expanded(std::string_view key, std::string_view list);
  std::optional<double> number_of(const toml::node& node, std::string_view key, Range range);

  const toml::table& table_;
  std::string name_;
  Complaints& complaints_;
};

// What a TOML value is, for "is a string": "a string", "an array", ...
std::string_view describe(const toml::node& node);

}  // namespace alm::topology
