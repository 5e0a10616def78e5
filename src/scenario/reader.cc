#include "scenario/reader.h"

#include <algorithm>
#include <cmath>

namespace alm::scenario {

bool is_a(const Value& value, bool& out) {
  const auto* held = std::get_if<bool>(&value.held);
  if (held != nullptr) out = *held;
  return held != nullptr;
}

bool is_a(const Value& value, std::uint64_t& out) {
  const auto* held = std::get_if<std::uint64_t>(&value.held);
  if (held != nullptr) out = *held;
  return held != nullptr;
}

bool is_a(const Value& value, std::uint32_t& out) {
  std::uint64_t held = 0;
  if (!is_a(value, held) || held > UINT32_MAX) return false;
  out = static_cast<std::uint32_t>(held);
  return true;
}

bool is_a(const Value& value, double& out) {
  if (const auto* whole = std::get_if<std::uint64_t>(&value.held)) {
    out = static_cast<double>(*whole);
  } else if (const auto* below = std::get_if<std::int64_t>(&value.held)) {
    out = static_cast<double>(*below);
  } else if (const auto* held = std::get_if<double>(&value.held)) {
    out = *held;
  } else {
    return false;
  }
  return true;
}

bool is_a(const Value& value, std::string& out) {
  const auto* held = std::get_if<std::string>(&value.held);
  if (held != nullptr) out = *held;
  return held != nullptr;
}

const Value* Reader::find(const char* key) {
  known_.insert(key);
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  const bool given = found != values_.end() && !std::holds_alternative<Nothing>(found->value.held);
  return given ? &found->value : nullptr;
}

void Reader::refuse(const std::string& message) {
  if (!wrong_) wrong_ = base::bad_input(where_ + ": " + message);
}

void Reader::read(const char* key, bool& out, Flag) { get(key, out, "true or false"); }

void Reader::read(const char* key, std::string& out, Name) { get(key, out, "a name"); }

void Reader::read(const char* key, std::uint64_t& out, Count rule) {
  std::uint64_t value = 0;
  if (!get(key, value, "a whole number, 0 or more")) return;
  if (value < rule.least || value > rule.most) {
    refuse(fmt::format("`{}` is {}; expected {} to {}", key, value, rule.least, rule.most));
  } else {
    out = value;
  }
}

void Reader::read(const char* key, std::uint32_t& out, Count rule) {
  std::uint64_t value = out;
  read(key, value, rule);
  out = static_cast<std::uint32_t>(value);
}

void Reader::read(const char* key, double& out, Number rule) {
  double value = 0;
  if (!get(key, value, "a number")) return;
  if (value >= rule.least && value <= rule.most && !(rule.above && value == rule.least)) {
    out = value;
  } else if (rule.above) {
    refuse(fmt::format("`{}` is {}; expected more than {}, up to {}", key, value, rule.least,
                       rule.most));
  } else {
    refuse(fmt::format("`{}` is {}; expected {} to {}", key, value, rule.least, rule.most));
  }
}

void Reader::read(const char* key, sim::Picos& out, Time rule) {
  constexpr double kMost = 1e18;
  double value = 0;
  if (!get(key, value, "a number")) return;
  const double picos = value * static_cast<double>(rule.unit);
  if (value >= 0 && picos <= kMost) {
    out = std::llround(picos);
  } else {
    refuse(fmt::format("`{}` is {}; expected a time of 0 or more", key, value));
  }
}

void Reader::read(const char* key, std::string& out, const OneOf& rule) {
  std::string value;
  if (!get(key, value, "a name")) return;
  if (std::find(rule.names.begin(), rule.names.end(), value) != rule.names.end()) {
    out = value;
    return;
  }
  std::string valid;
  for (std::size_t i = 0; i < rule.names.size(); ++i) {
    if (i > 0) valid += i + 1 == rule.names.size() ? " or " : ", ";
    valid += rule.names[i];
  }
  refuse(fmt::format("{} `{}` is unknown; expected {}", key, value, valid));
}

void Reader::read_table(const Value& value, const std::string& where,
                        const std::function<void(Reader&)>& read) {
  const auto* values = std::get_if<Table>(&value.held);
  if (values == nullptr) {
    if (!wrong_) wrong_ = base::bad_input(where + ": expected a table of keys and values");
    return;
  }
  Reader reader(*values, where);
  read(reader);
  if (auto done = reader.finish(); !done && !wrong_) wrong_ = done.error();
}

base::Status Reader::finish() {
  for (const auto& [key, value] : values_) {
    if (wrong_) return *wrong_;
    if (known_.count(key) > 0) continue;
    std::string valid;
    for (const std::string& one : known_) valid += (valid.empty() ? "" : ", ") + one;
    refuse(fmt::format("`{}` is unknown; expected {}", key, valid));
  }
  return wrong_ ? base::Status(*wrong_) : base::Status();
}

}  // namespace alm::scenario
