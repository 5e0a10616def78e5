// Options as they are given, before anything is known of them: what Python, TOML and JSON agree on.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace alm::scenario {

struct Value;
struct Entry;

struct Nothing {};
// What is none of the others, as text for messages.
struct Unreadable {
  std::string text;
};
using List = std::vector<Value>;
using Table = std::vector<Entry>;  // in the order given

struct Value {
  // Whole numbers are unsigned where they are not below 0.
  std::variant<Nothing, bool, std::int64_t, std::uint64_t, double, std::string, List, Table,
               Unreadable>
      held;
};

struct Entry {
  std::string key;
  Value value;
};

// For messages, as Python writes it.
std::string text_of(const Value& value);

}  // namespace alm::scenario
