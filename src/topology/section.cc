#include "topology/section.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/hostlist.h"
#include "base/letters.h"
#include "topology/cluster.h"

namespace alm::topology {

void Complaints::add(std::uint32_t line, std::string_view key, std::string_view what,
                     std::string_view expected) {
  if (error_) return;
  constexpr std::size_t kBytesMax = 240;
  error_ = base::bad_input(
      fmt::format("{}:{}: key `{}`: {}; expected {}", file_, std::max(line, std::uint32_t{1}),
                  base::shown(key, kBytesMax), base::shown(what, kBytesMax), expected));
}

std::string_view describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::string Section::path(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

std::uint32_t Section::line_of(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node ? node->source().begin.line : line();
}

void Section::complain(std::string_view key, std::string_view what, std::string_view expected) {
  complaints_.add(line_of(key), path(key), what, expected);
}

void Section::allow(std::initializer_list<std::string_view> valid) {
  // In file order, so that the first wrong line is the one reported.
  const toml::key* first = nullptr;
  for (const auto& [key, node] : table_) {
    if (std::find(valid.begin(), valid.end(), key.str()) != valid.end()) continue;
    if (!first || key.source().begin < first->source().begin) first = &key;
  }
  if (!first) return;
  std::string list;
  for (const std::string_view key : valid) {
    if (!list.empty()) list += ", ";
    list += key;
  }
  complaints_.add(first->source().begin.line, path(first->str()), "is not known", "one of " + list);
}

std::string Section::need_text(std::string_view key, std::string_view expected) {
  need(key, expected);
  const auto found = text(key);
  if (found && found->empty()) complain(key, "is empty", expected);
  return found.value_or("");
}

void Section::need(std::string_view key, std::string_view expected) {
  if (!has(key)) complain(key, "is missing", expected);
}

std::optional<std::string> Section::text(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (!node) return std::nullopt;
  if (const auto* value = node->as_string()) return value->get();
  complain(key, fmt::format("is {}", describe(*node)), "a string in quotes");
  return std::nullopt;
}

std::optional<double> Section::number(std::string_view key, Range range) {
  const toml::node* node = table_.get(key);
  return node ? number_of(*node, key, range) : std::nullopt;
}

std::optional<double> Section::number_of(const toml::node& node, std::string_view key,
                                         Range range) {
  const std::string expected =
      fmt::format("a number {} {}{}", range.above_low ? "above" : "from", range.low,
                  fmt::format("{}{}", range.above_low ? ", at most " : " to ", range.high));
  double value = 0;
  if (const auto* integer = node.as_integer()) {
    value = static_cast<double>(integer->get());
  } else if (const auto* floating = node.as_floating_point()) {
    value = floating->get();
  } else {
    complain(key, fmt::format("is {}", describe(node)), expected);
    return std::nullopt;
  }
  const bool inside = std::isfinite(value) && value <= range.high &&
                      (range.above_low ? value > range.low : value >= range.low);
  if (inside) return value;
  complain(key, fmt::format("{} is out of range", value), expected);
  return std::nullopt;
}

std::optional<std::uint32_t> Section::integer(std::string_view key, std::uint32_t low,
                                              std::uint32_t high) {
  const auto value = count(key, low, high);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

std::optional<std::uint64_t> Section::count(std::string_view key, std::uint64_t low,
                                            std::uint64_t high) {
  const toml::node* node = table_.get(key);
  if (!node) return std::nullopt;
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  const auto* value = node->as_integer();
  if (!value) {
    complain(key, fmt::format("is {}", describe(*node)), expected);
    return std::nullopt;
  }
  if (value->get() < 0 || static_cast<std::uint64_t>(value->get()) < low ||
      static_cast<std::uint64_t>(value->get()) > high) {
    complain(key, fmt::format("{} is out of range", value->get()), expected);
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value->get());
}

std::optional<bool> Section::flag(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (!node) return std::nullopt;
  if (const auto* value = node->as_boolean()) return value->get();
  complain(key, fmt::format("is {}", describe(*node)), "true or false");
  return std::nullopt;
}

std::vector<double> Section::numbers(std::string_view key, Range range) {
  const toml::node* node = table_.get(key);
  if (!node) return {};
  const toml::array* array = node->as_array();
  if (!array) {
    complain(key, fmt::format("is {}", describe(*node)), "an array of numbers");
    return {};
  }
  std::vector<double> out;
  for (const toml::node& element : *array) {
    const auto value = number_of(element, key, range);
    if (!value) return {};
    out.push_back(*value);
  }
  return out;
}

std::vector<std::string> Section::names(std::string_view key) {
  const auto list = text(key);
  return list ? expanded(key, *list) : std::vector<std::string>{};
}

std::vector<std::vector<std::string>> Section::name_lists(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (!node) return {};
  const toml::array* array = node->as_array();
  if (!array) return {names(key)};
  std::vector<std::vector<std::string>> out;
  for (const toml::node& element : *array) {
    const auto* list = element.as_string();
    if (!list) {
      complain(key, fmt::format("holds {}", describe(element)), "strings in quotes");
      return {};
    }
    out.push_back(expanded(key, list->get()));
  }
  return out;
}

std::vector<std::string> Section::expanded(std::string_view key, std::string_view list) {
  auto expanded = base::expand_hostlist(list);
  if (expanded) return std::move(expanded).value();
  const std::string& message = expanded.error().message;
  const std::size_t at = message.rfind("; expected ");
  complain(key, message.substr(0, at),
           at == std::string::npos ? "names as in h[0-7]" : message.substr(at + 11));
  return {};
}

}  // namespace alm::topology
