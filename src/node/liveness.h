// How the ranks of a host see that one of them is dead: each locks a byte of a file for as long as
// it lives, and the kernel drops the lock with the process, however it ends. The file is anonymous,
// so that nothing is left behind. One file serves all communicators that a process leads on its
// host, so that the number of descriptors does not grow with communicators
// (docs/adr/0009-several-ranks-per-host.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace alm::node {

enum class Life { kAlive, kStopped, kGone };

class LivenessFile {
 public:
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  int file() const { return file_; }
  std::uint64_t inode() const { return inode_; }
  // The state of the process that has locked this byte.
  Life life_of(std::uint64_t byte) const;

 private:
  friend class LivenessFiles;
  LivenessFile(int file, std::uint64_t inode) : file_(file), inode_(inode) {}
  base::Status lock(std::uint64_t byte) const;

  int file_;
  std::uint64_t inode_;
};

// The liveness files that this process has open. It may open each file only once: the kernel drops
// the locks of a process when any of its descriptors of the file is closed. So the last user closes
// the file with the mutex held, and another thread gets a file that is open or opens it after that.
class LivenessFiles {
 public:
  // own() and of() lock byte `number`, which no other process of the host uses. The file stays open
  // for as long as somebody holds the pointer. Any thread.
  //
  // This process's own, for the communicators it leads.
  base::Result<std::shared_ptr<const LivenessFile>> own(std::uint64_t number);
  // Descriptor `file` of process `host_leader`, whose inode must be `inode`.
  base::Result<std::shared_ptr<const LivenessFile>> of(pid_t host_leader, int file,
                                                       std::uint64_t inode, std::uint64_t number);

 private:
  using Handle = std::shared_ptr<const LivenessFile>;
  struct Opened {
    std::unique_ptr<const LivenessFile> file;
    std::uint64_t users = 0;
  };
  struct State {
    std::mutex mutex;
    std::map<std::uint64_t, Opened> open;  // by inode
    std::uint64_t own = 0;                 // inode; 0 or one that is no longer open: none
  };

  // With the mutex held.
  Handle another_user(std::uint64_t inode);
  base::Result<Handle> locked(std::unique_ptr<const LivenessFile> file, std::uint64_t number);

  std::shared_ptr<State> state_ = std::make_shared<State>();  // lives as long as its handles
};

}  // namespace alm::node
