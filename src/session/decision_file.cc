#include "session/decision_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "base/text_file.h"

namespace alm::session {
namespace {

// A job that ends does not wait longer for another one that ends: it goes on without the lock.
constexpr std::chrono::milliseconds kLockWithin{1000};
constexpr std::chrono::milliseconds kLockAgain{5};

base::Error cannot_write(const std::string& path, int why) {
  return base::io_error(
      fmt::format("ALLEMANDE_DECISIONS: cannot write {}: {}", path, std::strerror(why)));
}

// Jobs that end at the same time come one after another. The lock is on the file itself, so that
// nothing else is left behind; who gets it looks whether the file is still the one of that name.
class FileLock {
 public:
  explicit FileLock(const std::string& path) {
    const auto latest = std::chrono::steady_clock::now() + kLockWithin;
    while (!take(path) && std::chrono::steady_clock::now() < latest) {
      std::this_thread::sleep_for(kLockAgain);
    }
  }
  ~FileLock() { drop(); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  // False: another job has it.
  bool take(const std::string& path) {
    constexpr mode_t kAll = 0666;  // less what the user's umask takes
    drop();
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kAll);
    if (file_ < 0) return true;
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    struct stat locked {
    }, named{};
    return ::fstat(file_, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  }
  void drop() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  int file_ = -1;
};

// What must not be read in MPI_Init, where a pipe has no end, nor replaced: links to /dev/null are
// a usual way to switch a cache off.
bool is_special(std::filesystem::file_type kind) {
  using std::filesystem::file_type;
  return kind == file_type::character || kind == file_type::block || kind == file_type::fifo ||
         kind == file_type::socket;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(file, text.data(), text.size());
    if (put < 0 && errno != EINTR) return false;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
  return true;
}

}  // namespace

base::Result<std::vector<tuning::Decision>> read_decisions(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return std::vector<tuning::Decision>{};
  if (is_special(kind)) return base::io_error(path + " is a device, a pipe or a socket");
  const auto text = base::read_text(path, tuning::kDecisionFileBytesMax, "a decision file");
  if (!text) return text.error();
  if (text.value().empty()) return std::vector<tuning::Decision>{};
  return tuning::parse_decisions(text.value(), path);
}

base::Status write_decisions(const std::string& path, std::span<const tuning::Decision> all) {
  const std::string text = tuning::format_decisions(all);
  std::uint64_t chance = 0;
  if (::getrandom(&chance, sizeof chance, 0) != sizeof chance) return cannot_write(path, errno);
  // A name that nobody can foresee, and only if nothing has it: nobody else's file is written to.
  const std::string part = fmt::format("{}.{:016x}", path, chance);
  constexpr mode_t kAll = 0666;  // less what the user's umask takes
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAll);
  if (file < 0) return cannot_write(path, errno);
  const bool written = write_all(file, text);
  int why = errno;
  const bool closed = ::close(file) == 0;
  if (written && !closed) why = errno;
  if (written && closed) {
    if (std::rename(part.c_str(), path.c_str()) == 0) return {};
    why = errno;
  }
  ::unlink(part.c_str());
  return cannot_write(path, why);
}

base::Status add_decisions(const std::string& path, std::span<const tuning::Decision> recorded,
                           Unreadable unreadable) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  const std::string file = error ? path : target.string();
  if (is_special(std::filesystem::status(file, error).type())) {
    return base::io_error("ALLEMANDE_DECISIONS: " + file + " is a device, a pipe or a socket");
  }
  const FileLock lock(file);
  auto all = read_decisions(file);
  if (!all && unreadable == Unreadable::kReplaced) all = std::vector<tuning::Decision>();
  if (!all) return base::io_error("ALLEMANDE_DECISIONS: " + all.error().message);
  for (const tuning::Decision& one : recorded) tuning::merge(all.value(), one);
  return write_decisions(file, all.value());
}

}  // namespace alm::session
