#include "base/text_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace alm::base {
namespace {

// As much of the file as there is, up to `bytes_max`; false with errno where it cannot be read.
bool read_some(int file, std::size_t bytes_max, std::string& text) {
  constexpr std::size_t kChunk = 64 << 10;
  while (text.size() < bytes_max) {
    const std::size_t had = text.size();
    text.resize(std::min(had + kChunk, bytes_max));
    const ssize_t got = ::read(file, text.data() + had, text.size() - had);
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
  }
  return true;
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t bytes_max,
                              std::string_view expected) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && read_some(file, bytes_max + 1, text);
  const int why = errno;
  if (file >= 0) ::close(file);
  if (!done) {
    return bad_input(
        fmt::format("{}: cannot be read: {}; expected {}", path, std::strerror(why), expected));
  }
  if (text.size() > bytes_max) {
    return bad_input(fmt::format("{}: more than {} bytes are too many; expected {} of at most that",
                                 path, bytes_max, expected));
  }
  return text;
}

}  // namespace alm::base
