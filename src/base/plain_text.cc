#include "base/plain_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/letters.h"

namespace alm::base {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_plain(char c) { return is_blank(c) || (c >= ' ' && c <= '~'); }

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool may_begin_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

constexpr std::string_view kTomlExpected =
    "[table], [[table]] or key = value, in ASCII, and other letters only in comments and "
    "\"strings\" of one line";

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
  const std::string& wrong() const { return wrong_; }
  std::string_view expected() const { return expected_; }
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
      rest_.remove_prefix(std::min(rest_.find_first_of("\r\n"), rest_.size()));
    } else if (c == '"' || c == '\'') {
      string(c);
    } else if (c == '[' && first && open_.empty()) {
      header();
    } else if (c == '[' || c == '{') {
      open_ += c;
    } else if ((c == ']' || c == '}') && !open_.empty()) {  // none open: a header's, or wrong
      if (open_.back() != (c == ']' ? '[' : '{')) wrong_ = "brackets that do not match";
      open_.pop_back();
    } else if (!is_plain(c) && is_ascii(c)) {
      control(c, "outside strings");
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
      if (rest_.empty() || next() == '\n' || rest_.substr(0, 2) == "\r\n") {
        wrong_ = "a string that does not end in its line";
        return;
      }
      if (is_ascii(next())) return control(next(), "in a string");
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

  void control(char c, std::string_view where) {
    if (c == '\r') {
      wrong_ = "a carriage return alone";
      expected_ = "lines that end in LF, or in CR and LF";
      return;
    }
    wrong_ = fmt::format("the control character U+{:04X} {}", static_cast<unsigned char>(c), where);
    expected_ = "text without control characters";
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
  std::string wrong_;
  std::string_view expected_ = kTomlExpected;
};

}  // namespace

Result<std::string> plain_text(std::string_view text, std::string_view source_name) {
  const std::string_view mark = text.substr(0, 2);
  if (mark == "\xff\xfe" || mark == "\xfe\xff") {
    return bad_input(fmt::format("{}: is UTF-16; expected TOML, saved as UTF-8", source_name));
  }
  Reader reader(text);
  if (reader.run()) return reader.take();
  return bad_input(fmt::format("{}:{}: not valid TOML: {}; expected {}", source_name, reader.line(),
                               reader.wrong(), reader.expected()));
}

}  // namespace alm::base
