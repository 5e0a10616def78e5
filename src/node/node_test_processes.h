// For tests: the ranks of a communicator as processes of this machine.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "node/node.h"
#include "node/node_slabs.h"
#include "plan/placement.h"

// Present in a build that counts lines (preset `coverage`): exit() writes the counts, _Exit() does
// not. NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" void __gcov_dump() __attribute__((weak));

namespace alm::node {

// The memory by which the processes meet before they share anything else.
struct Bootstrap {
  static constexpr std::size_t kRanksMax = 32;
  struct Entry {
    std::atomic<std::int32_t> pid, file;
    std::atomic<std::uint16_t> set, port;
    std::atomic<std::uint16_t> lanes[4];
  };
  Entry entries[kRanksMax];
  std::atomic<std::uint32_t> come[8];

  // Waits until all of `ranks` have come to this stage; any number of times.
  void meet(std::size_t stage, std::uint32_t ranks) {
    const std::uint32_t all = (come[stage]++ / ranks + 1) * ranks;
    while (come[stage] < all) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
};

class Processes {
 public:
  explicit Processes(std::vector<std::string_view> hosts) : placement_(plan::Placement::of(hosts)) {
    void* mapped = ::mmap(nullptr, sizeof(Bootstrap), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bootstrap_ = new (mapped) Bootstrap{};
  }
  ~Processes() { ::munmap(bootstrap_, sizeof(Bootstrap)); }

  const plan::Placement& placement() const { return placement_; }
  Bootstrap& bootstrap() const { return *bootstrap_; }

  // Runs the body of every rank in a process of its own. The body returns what went wrong.
  void start(const std::function<std::string(std::uint32_t rank)>& body) {
    for (std::uint32_t rank = 0; rank < placement_.rank_count(); ++rank) {
      const pid_t pid = ::fork();
      if (pid != 0) {
        pids_.push_back(pid);
        continue;
      }
      const std::string wrong = body(rank);
      if (!wrong.empty()) std::fprintf(stderr, "rank %u: %s\n", rank, wrong.c_str());
      if (__gcov_dump != nullptr) __gcov_dump();
      std::_Exit(wrong.empty() ? 0 : 1);
    }
  }
  pid_t pid(std::uint32_t rank) const { return pids_[rank]; }
  // True when the rank's body had nothing to complain about.
  bool ended_well(std::uint32_t rank) const {
    int status = 0;
    ::waitpid(pids_[rank], &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  void expect_all_well() const {
    for (std::uint32_t rank = 0; rank < placement_.rank_count(); ++rank) {
      EXPECT_TRUE(ended_well(rank)) << "rank " << rank;
    }
  }

  // Called in a rank's process: opens the memory of its host. Uses stages 0 and 1.
  std::unique_ptr<Node> open_node(std::uint32_t rank, Node::Settings settings,
                                  std::uint64_t slab_bytes = kNodeSlabBytes) const {
    const std::uint32_t host = placement_.host_of[rank];
    const auto shape = node_shape(placement_, host, slab_bytes);
    const transport::Key nonce{host, 77};
    auto& mine = bootstrap_->entries[rank];
    const NodeMemory::Process self{liveness_, rank};
    std::unique_ptr<NodeMemory> memory;
    if (placement_.leads(rank)) {
      memory = NodeMemory::create(shape, nonce, self).value();
      mine.pid = ::getpid();
      mine.file = memory->file();
    }
    bootstrap_->meet(0, placement_.rank_count());
    if (!memory) {
      const auto& leader = bootstrap_->entries[placement_.leader(host)];
      memory = NodeMemory::attach(shape, nonce, leader.pid, leader.file,
                                  placement_.local_rank[rank], self)
                   .value();
    }
    bootstrap_->meet(1, placement_.rank_count());
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < placement_.rank_count(); ++i) {
      names.push_back("rank " + std::to_string(i));
    }
    return std::make_unique<Node>(std::move(memory), placement_.ranks[host], std::move(names),
                                  std::move(settings));
  }

 private:
  plan::Placement placement_;
  mutable LivenessFiles liveness_;  // each process has a copy
  Bootstrap* bootstrap_;
  std::vector<pid_t> pids_;
};

}  // namespace alm::node
