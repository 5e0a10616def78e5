#include "scenario/value.h"

#include <fmt/core.h>

namespace alm::scenario {
namespace {

struct Text {
  std::string operator()(const Nothing&) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(const List& value) const {
    std::string out;
    for (const Value& one : value) out += (out.empty() ? "" : ", ") + text_of(one);
    return "[" + out + "]";
  }
  std::string operator()(const Table& value) const {
    std::string out;
    for (const auto& [key, one] : value) {
      out += (out.empty() ? "'" : ", '") + key + "': " + text_of(one);
    }
    return "{" + out + "}";
  }
  std::string operator()(const Unreadable& value) const { return value.text; }
};

}  // namespace

std::string text_of(const Value& value) { return std::visit(Text(), value.held); }

}  // namespace alm::scenario
