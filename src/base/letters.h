// Letters of UTF-8, and texts as messages show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace alm::base {

// Takes one letter off the front of `text`, which is not empty; nothing if there is no UTF-8.
std::optional<std::uint32_t> take_letter(std::string_view& text);

// What terminals obey or show as nothing: control characters, marks of direction, odd blanks.
bool is_hidden(std::uint32_t letter);

// Without the blanks around it: spaces, tabs and carriage returns.
std::string_view trim(std::string_view text);

// `text` for a message: not much more than `bytes_max` bytes, in UTF-8, with hidden letters and all
// that is no UTF-8 escaped. A file may hold names of any length, and letters that end lines or
// move the cursor.
std::string shown(std::string_view text, std::size_t bytes_max = 60);

}  // namespace alm::base
