#include "node/liveness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace alm::node {
namespace {

base::Error failure(const std::string& what) {
  return base::io_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

struct flock byte_lock(std::uint64_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

// 0: cannot tell.
std::uint64_t inode_of(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 ? status.st_ino : 0;
}

// The letter after the name in parentheses (proc(5)); the name may hold anything. 0: cannot tell.
char state_letter(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return 0;
  char text[512];
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* end = std::strrchr(text, ')');
  return end != nullptr && end[1] == ' ' ? end[2] : '\0';
}

}  // namespace

LivenessFile::~LivenessFile() { ::close(file_); }

base::Status LivenessFile::lock(std::uint64_t byte) const {
  auto lock = byte_lock(byte);
  if (::fcntl(file_, F_SETLK, &lock) != 0) return failure("the lock that shows who lives");
  return {};
}

Life LivenessFile::life_of(std::uint64_t byte) const {
  auto lock = byte_lock(byte);
  if (::fcntl(file_, F_GETLK, &lock) != 0) return Life::kAlive;
  if (lock.l_type == F_UNLCK) return Life::kGone;
  // 0: in another PID namespace.
  const char state = lock.l_pid > 0 ? state_letter(lock.l_pid) : '\0';
  return state == 'T' || state == 't' ? Life::kStopped : Life::kAlive;
}

LivenessFiles::Handle LivenessFiles::another_user(std::uint64_t inode) {
  Opened& opened = state_->open.at(inode);
  ++opened.users;
  return {opened.file.get(), [state = state_, inode](const LivenessFile*) {
            const std::lock_guard guard(state->mutex);
            const auto found = state->open.find(inode);
            if (--found->second.users == 0) state->open.erase(found);
          }};
}

base::Result<LivenessFiles::Handle> LivenessFiles::locked(std::unique_ptr<const LivenessFile> file,
                                                          std::uint64_t number) {
  if (auto locked = file->lock(number); !locked) return locked.error();
  const std::uint64_t inode = file->inode();
  state_->open[inode].file = std::move(file);
  return another_user(inode);
}

base::Result<LivenessFiles::Handle> LivenessFiles::own(std::uint64_t number) {
  const std::lock_guard guard(state_->mutex);
  if (state_->open.contains(state_->own)) return another_user(state_->own);
  const int file = ::memfd_create("allemande-liveness", MFD_CLOEXEC);
  if (file < 0) return failure("memfd_create");
  std::unique_ptr<const LivenessFile> made(new LivenessFile(file, inode_of(file)));
  state_->own = made->inode();
  return locked(std::move(made), number);
}

base::Result<LivenessFiles::Handle> LivenessFiles::of(pid_t host_leader, int file,
                                                      std::uint64_t inode, std::uint64_t number) {
  const std::lock_guard guard(state_->mutex);
  if (state_->open.contains(inode)) return another_user(inode);
  const std::string path = fmt::format("/proc/{}/fd/{}", host_leader, file);
  const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) return failure(path);
  std::unique_ptr<const LivenessFile> made(new LivenessFile(own, inode_of(own)));
  if (made->inode() != inode) {
    return base::io_error(path + " is not the file that shows who lives on this host");
  }
  return locked(std::move(made), number);
}

}  // namespace alm::node
