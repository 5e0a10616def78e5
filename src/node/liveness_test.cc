#include "node/liveness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "node/node_test_processes.h"

namespace alm::node {
namespace {

// Rank 0 leads the host and looks whether rank 1 lives, two threads of which take and drop the file
// all the time. A thread that holds it says so, and with which turn it took it.
struct Turns {
  std::atomic<std::uint32_t> held[2];  // 0: no
  std::atomic<bool> over;
};

TEST(Liveness, AFileThatOneThreadDropsStaysLockedForTheOther) {
  void* mapped =
      ::mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& turns = *new (mapped) Turns{};
  Processes processes({"h", "h"});
  constexpr std::uint64_t kByte = 5;
  processes.start([&](std::uint32_t rank) -> std::string {
    LivenessFiles files;
    auto& leader = processes.bootstrap().entries[0];
    if (rank == 0) {
      const auto own = files.own(0).value();
      leader.pid = ::getpid();
      leader.file = own->file();
      processes.bootstrap().meet(0, 2);
      std::uint64_t gone = 0, looks = 0;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) {
        for (auto& held : turns.held) {
          const std::uint32_t before = held;
          const Life life = own->life_of(kByte);
          if (before == 0 || held != before) continue;
          ++looks;
          if (life == Life::kGone) ++gone;
        }
      }
      turns.over = true;
      processes.bootstrap().meet(1, 2);
      if (looks == 0) return "nobody ever held it";
      return gone == 0 ? "" : std::to_string(gone) + " of " + std::to_string(looks) + " looks";
    }
    processes.bootstrap().meet(0, 2);
    struct stat status {};
    const std::string path =
        "/proc/" + std::to_string(leader.pid) + "/fd/" + std::to_string(leader.file);
    if (::stat(path.c_str(), &status) != 0) return "no file";
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    for (auto& held : turns.held) {
      threads.emplace_back([&] {
        for (std::uint32_t turn = 1; !turns.over; ++turn) {
          const auto file = files.of(leader.pid, leader.file, status.st_ino, kByte);
          if (!file) failed = true;
          held = turn;
          for (int i = 0; i < 20; ++i) std::this_thread::yield();
          held = 0;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    processes.bootstrap().meet(1, 2);
    return failed ? "the file could not be opened" : "";
  });
  processes.expect_all_well();
  ::munmap(mapped, sizeof(Turns));
}

}  // namespace
}  // namespace alm::node
