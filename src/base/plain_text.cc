#include "base/plain_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace alm::base {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_plain(char c) { return is_blank(c) || (c >= ' ' && c <= '~'); }

bool may_begin_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

// Takes one UTF-8 sequence of two to four bytes off the front of `text`.
std::optional<std::uint32_t> take_letter(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc0 || text.size() < length) return std::nullopt;
  std::uint32_t letter = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    letter = letter << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = letter >= 0xd800 && letter < 0xe000;
  if (letter < kLeast[length] || letter > 0x10ffff || surrogate) return std::nullopt;
  text.remove_prefix(length);
  return letter;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      rest_.remove_prefix(kByteOrderMark.size());
    }
  }

  // False: wrong() says what is not right in line().
  bool run() {
    while (!rest_.empty() && wrong_.empty()) step();
    return wrong_.empty();
  }

  std::string take() { return std::move(out_); }
  std::string_view wrong() const { return wrong_; }
  int line() const { return line_; }

 private:
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }

  char copy() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    out_ += c;
    return c;
  }

  void step() {
    const char c = copy();
    if (c == '\n') {
      ++line_;
      line_begins_ = true;
      return;
    }
    if (is_blank(c) || (c == '\r' && next() == '\n')) return;
    const bool first = std::exchange(line_begins_, false);
    if (c == '#') {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (c == '"' || c == '\'') {
      string(c);
    } else if (c == '[' && first && open_.empty()) {
      header();
    } else if (c == '[' || c == '{') {
      open_ += c;
    } else if ((c == ']' || c == '}') && !open_.empty()) {  // none open: a header's, or wrong
      if (open_.back() != (c == ']' ? '[' : '{')) wrong_ = "brackets that do not match";
      open_.pop_back();
    } else if (!is_plain(c)) {
      wrong_ = "a character outside strings that is not printable ASCII";
    }
  }

  void string(char quote) {
    if (rest_.substr(0, 2) == std::string(2, quote)) {
      wrong_ = "a string of several lines";
      return;
    }
    while (true) {
      if (is_plain(next())) {
        const char c = copy();
        if (c == quote) return;
        if (c == '\\' && quote == '"' && is_plain(next())) copy();
        continue;
      }
      if (rest_.empty() || static_cast<unsigned char>(next()) < 0x80) {
        wrong_ = "a string that does not end in its line";
        return;
      }
      const auto letter = take_letter(rest_);
      if (!letter) {
        wrong_ = "a string that is not UTF-8";
        return;
      }
      if (quote == '\'') {
        wrong_ = "a letter beyond ASCII in single quotes";
        return;
      }
      fmt::format_to(std::back_inserter(out_), "\\U{:08X}", *letter);
    }
  }

  // After the first '['.
  void header() {
    const auto skip_blanks = [&] {
      while (is_blank(next())) copy();
    };
    if (next() == '[') copy();
    skip_blanks();
    if (next() != ']' && !may_begin_key(next())) wrong_ = "a table header without a name";
  }

  std::string_view rest_;
  std::string out_;
  int line_ = 1;
  std::string open_;  // brackets, in values
  bool line_begins_ = true;
  std::string_view wrong_;
};

}  // namespace

Result<std::string> plain_text(std::string_view text, std::string_view source_name) {
  Reader reader(text);
  if (reader.run()) return reader.take();
  return bad_input(fmt::format(
      "{}:{}: not valid TOML: {}; expected [table], [[table]] or key = value, in ASCII, "
      "and other letters only in comments and \"strings\" of one line",
      source_name, reader.line(), reader.wrong()));
}

}  // namespace alm::base
