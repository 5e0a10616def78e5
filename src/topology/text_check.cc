#include "topology/text_check.h"

#include <fmt/core.h>

#include <utility>

namespace alm::topology {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool may_begin_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

class TextCheck {
 public:
  explicit TextCheck(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
  }

  // Empty, or what is wrong at line().
  std::string run() {
    while (at_ < text_.size() && wrong_.empty()) step();
    return wrong_;
  }

  int line() const { return line_; }

 private:
  void step() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      line_begins_ = true;
      return;
    }
    if (is_blank(c) || c == '\r') return;
    const bool first = std::exchange(line_begins_, false);
    if (c == '#') {
      skip_comment();
    } else if (c == '"' || c == '\'') {
      skip_string(c);
    } else if (c == '[' && first && depth_ == 0) {
      check_header();
    } else if (c == '[' || c == '{') {
      ++depth_;
    } else if (c == ']' || c == '}') {
      if (depth_ > 0) --depth_;
    } else if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') {
      wrong_ = "a character outside strings that is not printable ASCII";
    }
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // An unclosed string is left to toml++, which stops there.
  void skip_string(char quote) {
    if (text_.substr(at_ - 1, 3) == std::string(3, quote)) {
      wrong_ = "a string of several lines";
      return;
    }
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return;
      }
      if (text_[at_] == '\\' && quote == '"' && text_.substr(at_ + 1, 1) != "\n") ++at_;
    }
    at_ = text_.size();
  }

  // After the first '['.
  void check_header() {
    const auto skip_blanks = [&] {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    };
    if (at_ < text_.size() && text_[at_] == '[') ++at_;
    skip_blanks();
    if (at_ == text_.size() || text_[at_] == ']' || may_begin_key(text_[at_])) return;
    wrong_ = "a table header without a name";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;  // of brackets in values
  bool line_begins_ = true;
  std::string wrong_;
};

}  // namespace

base::Status check_text(std::string_view text, std::string_view source_name) {
  TextCheck check(text);
  const std::string wrong = check.run();
  if (wrong.empty()) return {};
  return base::bad_input(
      fmt::format("{}:{}: not valid TOML: {}; expected [table], [[table]], key = value in ASCII, "
                  "strings in one "
                  "line",
                  source_name, check.line(), wrong));
}

}  // namespace alm::topology
