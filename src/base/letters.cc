#include "base/letters.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace alm::base {

std::optional<std::uint32_t> take_letter(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) {
    const std::uint32_t letter = byte(0);
    text.remove_prefix(1);
    return letter;
  }
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

bool is_hidden(std::uint32_t letter) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kHidden[] = {
      {0, 0x1f},        {0x7f, 0xa0},     {0xad, 0xad},     {0x61c, 0x61c},   {0x1680, 0x1680},
      {0x180e, 0x180e}, {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},
      {0xe000, 0xf8ff}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [&](const Range& one) { return letter >= one.first && letter <= one.last; });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string shown(std::string_view text, std::size_t bytes_max) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= bytes_max) return out + "...";
    const std::string_view before = text;
    const auto letter = take_letter(text);
    if (!letter) {
      text.remove_prefix(1);
      fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                     static_cast<unsigned char>(before.front()));
    } else if (is_hidden(*letter)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", *letter);
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

}  // namespace alm::base
