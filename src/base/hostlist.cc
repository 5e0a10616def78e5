// Slurm hostlist syntax. A number keeps at least the digits of its range's lower bound, so [08-11]
// is 08 09 10 11 and [8-11] is 8 9 10 11.
#include "base/hostlist.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/letters.h"

namespace alm::base {
namespace {

constexpr std::size_t kDigitsMax = 18;  // fits std::uint64_t
// As of host names (RFC 1035): of a name, and between two of its dots.
constexpr std::size_t kNameMax = 253, kLabelMax = 63;
// So that a short list cannot ask for much memory: what the longest list of plain names has, twice.
constexpr std::size_t kLettersMax = 2 * kLabelMax * kHostlistMax;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > kDigitsMax) return std::nullopt;
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Appends the numbers of "0-3,7" to `out`.
Status expand_ranges(std::string_view ranges, std::vector<std::string>& out) {
  while (true) {
    const std::string_view range = ranges.substr(0, ranges.find(','));
    const std::size_t dash = range.find('-');
    const std::string_view low_text = range.substr(0, dash);
    const std::string_view high_text =
        dash == std::string_view::npos ? low_text : range.substr(dash + 1);
    const auto low = parse_number(low_text);
    const auto high = parse_number(high_text);
    if (!low || !high) {
      return bad_input(fmt::format(
          "`{}` inside brackets is not a range; expected numbers as in [0-7,9]", shown(range)));
    }
    if (*low > *high) {
      return bad_input(fmt::format("range `{}` runs backwards; expected the smaller number first",
                                   shown(range)));
    }
    if (*high - *low >= kHostlistMax - std::min(out.size(), kHostlistMax - 1)) {
      return bad_input(fmt::format("range `{}` is too long; expected at most {} names",
                                   shown(range), kHostlistMax));
    }
    for (std::uint64_t value = *low; value <= *high; ++value) {
      out.push_back(fmt::format("{:0{}}", value, low_text.size()));
    }
    if (range.size() == ranges.size()) return {};
    ranges.remove_prefix(range.size() + 1);
  }
}

Error too_long() {
  return bad_input(fmt::format("a name is too long; expected at most {} letters, {} between dots",
                               kNameMax, kLabelMax));
}

Error too_many() {
  return bad_input(fmt::format("too many names; expected at most {} in one list", kHostlistMax));
}

// A part of the names of an element: a text, and then one of the numbers, if there are any.
struct Piece {
  std::string_view text;
  std::vector<std::string> numbers;
};

// What the names of an element will be, reckoned before one of them is made: 19 letters can ask for
// more than a machine has.
class Bounds {
 public:
  Status add(const Piece& piece) {
    std::size_t most = 0;
    for (const std::string& number : piece.numbers) most = std::max(most, number.size());
    longest_ += piece.text.size() + most;
    const std::size_t dot = piece.text.rfind('.');
    const bool dotted = dot != std::string_view::npos;
    const std::size_t first = std::min(piece.text.find('.'), piece.text.size());
    if (longest_ > kNameMax || since_dot_ + first > kLabelMax) return too_long();
    since_dot_ = (dotted ? piece.text.size() - dot - 1 : since_dot_ + piece.text.size()) + most;
    if (since_dot_ > kLabelMax || has_long_label(piece.text)) return too_long();
    names_ *= std::max<std::size_t>(piece.numbers.size(), 1);
    if (names_ > kHostlistMax) return too_many();
    return {};
  }
  std::size_t names() const { return names_; }

 private:
  static bool has_long_label(std::string_view text) {
    for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
      if (dot > kLabelMax) return true;
      text.remove_prefix(dot + 1);
    }
    return false;
  }

  std::size_t names_ = 1, longest_ = 0;
  std::size_t since_dot_ = 0;  // letters
};

std::string name_of(const std::vector<Piece>& pieces, std::size_t index, std::size_t names) {
  std::string name;
  for (const Piece& piece : pieces) {
    name += piece.text;
    if (piece.numbers.empty()) continue;
    names /= piece.numbers.size();
    name += piece.numbers[index / names];
    index %= names;
  }
  return name;
}

// One element between commas; several brackets give the product, the last one running fastest.
Status expand_element(std::string_view element, std::vector<std::string>& out,
                      std::size_t& letters) {
  if (element.empty()) {
    return bad_input("a name is empty; expected names separated by single commas");
  }
  std::vector<Piece> pieces;
  Bounds bounds;
  while (!element.empty()) {
    const std::size_t open = std::min(element.find_first_of("[]"), element.size());
    Piece& piece = pieces.emplace_back(Piece{element.substr(0, open), {}});
    std::size_t end = open;
    if (open < element.size()) {
      const std::size_t close = element.find_first_of("[]", open + 1);
      if (element[open] == ']' || close == std::string_view::npos || element[close] == '[') {
        return bad_input("brackets do not match; expected names as in h[0-7]");
      }
      const std::string_view ranges = element.substr(open + 1, close - open - 1);
      if (auto status = expand_ranges(ranges, piece.numbers); !status) return status;
      end = close + 1;
    }
    if (auto status = bounds.add(piece); !status) return status;
    element.remove_prefix(end);
  }
  if (out.size() + bounds.names() > kHostlistMax) return too_many();
  for (std::size_t i = 0; i < bounds.names(); ++i) {
    letters += out.emplace_back(name_of(pieces, i, bounds.names())).size();
    if (letters > kLettersMax) {
      return bad_input(
          fmt::format("too long names; expected at most {} letters in one list", kLettersMax));
    }
  }
  return {};
}

// What is wrong with the first letter of `text`.
std::string odd_letter(std::string_view text) {
  if (text.front() == ' ') return "a blank";
  std::string_view rest = text;
  const auto letter = take_letter(rest);
  if (!letter) return "a letter that is not UTF-8";
  if (is_hidden(*letter)) return fmt::format("the character U+{:04X}", *letter);
  return fmt::format("the letter `{}` (U+{:04X})", text.substr(0, text.size() - rest.size()),
                     *letter);
}

Error wrong_letter(std::string_view text) {
  return bad_input(fmt::format(
      "has {}; expected names of ASCII letters, digits and signs, separated by commas alone",
      odd_letter(text)));
}

// A name around one of its numbers: h12-ib is {"h", "12", "-ib"}; digits are empty if it has none.
struct Parts {
  std::string_view prefix, digits, suffix;
};

std::size_t digits_at(std::string_view name, std::size_t begin) {
  std::size_t end = begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  return end - begin;
}

// `name` around the only number in which `next` differs; whole if there is none.
Parts split(std::string_view name, std::string_view next) {
  const std::size_t shorter = std::min(name.size(), next.size());
  std::size_t begin = 0;
  while (begin < shorter && name[begin] == next[begin]) ++begin;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  const std::size_t digits = digits_at(name, begin), others = digits_at(next, begin);
  if (digits == 0 || others == 0 || digits > kDigitsMax ||
      name.substr(begin + digits) != next.substr(begin + others)) {
    return {name, {}, {}};
  }
  return {name.substr(0, begin), name.substr(begin, digits), name.substr(begin + digits)};
}

// Collects names that differ in their number only.
class Run {
 public:
  // Before the others.
  void begin(const Parts& first) {
    *this = Run();
    prefix_ = first.prefix;
    suffix_ = first.suffix;
    low_ = high_ = first.digits;
    count_ = 1;
  }

  // False: `name` does not continue this run.
  bool add(std::string_view name) {
    if (low_.empty() || name.size() <= prefix_.size() + suffix_.size() ||
        !name.starts_with(prefix_) || !name.ends_with(suffix_)) {
      return false;
    }
    name.remove_prefix(prefix_.size());
    name.remove_suffix(suffix_.size());
    if (name.size() > kDigitsMax || digits_at(name, 0) != name.size()) return false;
    if (name != fmt::format("{:0{}}", *parse_number(high_) + 1, low_.size())) {
      close_range();
      low_ = name;
    }
    high_ = name;
    ++count_;
    return true;
  }

  std::string text() {
    close_range();
    return count_ == 1 ? fmt::format("{}{}{}", prefix_, ranges_, suffix_)
                       : fmt::format("{}[{}]{}", prefix_, ranges_, suffix_);
  }

 private:
  void close_range() {
    if (!ranges_.empty()) ranges_ += ',';
    ranges_ += low_;
    if (low_ != high_) fmt::format_to(std::back_inserter(ranges_), "-{}", high_);
  }

  std::string_view prefix_, suffix_, low_, high_;
  std::string ranges_;
  std::size_t count_ = 0;
};

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view list) {
  const auto wrong = [&](const Error& error) {
    return bad_input(fmt::format("hostlist `{}`: {}", shown(list), error.message));
  };
  std::vector<std::string> names;
  std::size_t begin = 0, letters = 0;
  bool bracket = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      const char c = list[i];
      if (c == '[') bracket = true;
      if (c == ']') bracket = false;
      if (c <= ' ' || c > '~') return wrong(wrong_letter(list.substr(i)));
      if (c != ',' || bracket) continue;
    }
    if (auto status = expand_element(list.substr(begin, i - begin), names, letters); !status) {
      return wrong(status.error());
    }
    begin = i + 1;
  }
  return names;
}

std::string compress_hostlist(std::span<const std::string> names) {
  std::string text;
  Run run;
  const auto flush = [&] {
    if (!text.empty()) text += ',';
    text += run.text();
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && run.add(names[i])) continue;
    if (i > 0) flush();
    run.begin(split(names[i], i + 1 < names.size() ? names[i + 1] : std::string_view()));
  }
  if (!names.empty()) flush();
  return text;
}

}  // namespace alm::base
