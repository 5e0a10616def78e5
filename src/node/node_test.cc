#include "node/node.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <iterator>

#include "node/node_test_processes.h"
#include "transport/attendance.h"

namespace alm::node {
namespace {

using ::testing::HasSubstr;

constexpr NodeCall kCall{NodeCall::kAlltoall, 8};

Node::Settings patient() {
  Node::Settings settings;
  settings.peer_warning = 60 * base::kSecond;
  settings.peer_timeout = 60 * base::kSecond;
  return settings;
}

std::string message(const base::Status& status) { return status ? "" : status.error().message; }

// Empty when it is what was expected.
std::string differs(const std::string& found, const std::string& expected) {
  return found == expected ? "" : "`" + found + "`, expected `" + expected + "`";
}

// A turn in which every rank writes a word and reads those of all.
std::string one_turn(Node& node, std::uint32_t ranks, std::uint64_t turn) {
  if (auto ready = node.ready_to_post(turn); !ready) return message(ready);
  auto* words = reinterpret_cast<std::uint64_t*>(node.memory().slab(turn, true));
  auto* delivered = reinterpret_cast<std::uint64_t*>(node.memory().slab(turn, false));
  words[node.local_rank()] = 1000 * turn + node.local_rank();
  node.post(turn, kCall);
  if (node.is_host_leader()) {
    if (auto posted = node.await_posts(turn, kCall); !posted) return message(posted);
    for (std::uint32_t local_rank = 0; local_rank < ranks; ++local_rank)
      delivered[local_rank] = words[local_rank] + 1;
    node.deliver(turn);
  } else if (auto come = node.await_delivery(turn); !come) {
    return message(come);
  }
  for (std::uint32_t local_rank = 0; local_rank < ranks; ++local_rank) {
    if (delivered[local_rank] != 1000 * turn + local_rank + 1) return "a word of another turn";
  }
  node.take(turn);
  return "";
}

TEST(Node, EveryTurnHasItsData) {
  Processes processes({"a", "a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    for (std::uint64_t turn = 0; turn < 3000; ++turn) {
      if (auto wrong = one_turn(*node, 4, turn); !wrong.empty()) return wrong;
    }
    return std::string();
  });
  processes.expect_all_well();
}

// On one processor a yield brings what is waited for.
TEST(Node, RanksThatShareAProcessorHardlySleep) {
  constexpr std::uint64_t kTurns = 1000;
  Processes processes({"a", "a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    cpu_set_t allowed, one;
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    }
    ::sched_setaffinity(0, sizeof one, &one);
    const auto node = processes.open_node(rank, patient());
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
      if (auto wrong = one_turn(*node, 4, turn); !wrong.empty()) return wrong;
    }
    ::getrusage(RUSAGE_SELF, &after);
    const long slept = after.ru_nvcsw - before.ru_nvcsw;
    return slept < static_cast<long>(kTurns / 4) ? std::string()
                                                 : std::to_string(slept) + " sleeps";
  });
  processes.expect_all_well();
}

TEST(Node, MpiProceedsWhileARankWaits) {
  Processes processes({"a", "a"});
  processes.start([&](std::uint32_t rank) {
    int calls = 0;
    auto settings = patient();
    settings.progress = [&] { ++calls; };
    const auto node = processes.open_node(rank, std::move(settings));
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto wrong = one_turn(*node, 2, 0);
    if (!wrong.empty() || rank == 1) return wrong;
    return std::string(calls >= 10 ? "" : "MPI did not proceed");
  });
  processes.expect_all_well();
}

// Rank `victim` of four ends in turn 5 where others wait for it.
void expect_loss_of(std::uint32_t victim) {
  Processes processes({"a", "a", "a", "a"});
  const std::string lost = "rank " + std::to_string(victim) + " is lost: its process has ended";
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
      if (auto wrong = one_turn(*node, 4, turn); !wrong.empty()) return wrong;
    }
    if (rank == victim) ::raise(SIGKILL);
    if (auto wrong = differs(one_turn(*node, 4, 5), lost); !wrong.empty()) return wrong;
    if (node->lost() != victim) return std::string("another rank is said to be lost");
    return differs(one_turn(*node, 4, 6), lost);
  });
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(processes.ended_well(rank), rank != victim) << "rank " << rank;
  }
}

TEST(Node, ADeadRankIsNamed) { expect_loss_of(2); }

TEST(Node, ADeadLeaderIsNamed) { expect_loss_of(0); }

TEST(Node, ARankThatDoesNotComeIsNamedOnceByTheLeader) {
  Processes processes({"a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    std::vector<std::string> warned;
    Node::Settings settings;
    settings.peer_warning = 300 * base::kMillisecond;
    settings.peer_timeout = 20 * base::kSecond;
    settings.warn = [&](const std::string& text) { warned.push_back(text); };
    settings.call = [] { return std::string("MPI_Alltoallv"); };
    const auto node = processes.open_node(rank, std::move(settings));
    if (rank == 1) ::usleep(1'500'000);
    node->begin(1, std::nullopt);
    if (auto wrong = one_turn(*node, 3, 0); !wrong.empty()) return wrong;
    if (auto wrong = one_turn(*node, 3, 1); !wrong.empty()) return wrong;
    if (rank > 0) return std::string(warned.empty() ? "" : "another than the leader has warned");
    if (warned.size() != 1) return std::string("not one warning");
    const bool named = warned.front().find("rank 1 has not entered MPI_Alltoallv for ") == 0;
    return named ? std::string() : warned.front();
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(processes.ended_well(rank));
}

TEST(Node, AStoppedRankIsWarnedOfAndThenLost) {
  Processes processes({"a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    std::string warned;
    Node::Settings settings;
    settings.peer_warning = 300 * base::kMillisecond;
    settings.peer_timeout = base::kSecond;
    settings.warn = [&](const std::string& text) { warned += text; };
    const auto node = processes.open_node(rank, std::move(settings));
    if (auto wrong = one_turn(*node, 3, 0); !wrong.empty()) return wrong;
    if (rank == 1) ::raise(SIGSTOP);
    const auto error = one_turn(*node, 3, 1);
    if (error.find("rank 1 is lost: stopped for 1.") != 0) return "not lost: " + error;
    if (rank > 0) return std::string();
    return std::string(warned.find("rank 1 stopped for 0.") == 0 ? "" : "no warning");
  });
  EXPECT_TRUE(processes.ended_well(0));
  EXPECT_TRUE(processes.ended_well(2));
  ::kill(processes.pid(1), SIGKILL);
  EXPECT_FALSE(processes.ended_well(1));
}

TEST(Node, AStoppedRankThatGoesOnIsWaitedFor) {
  Processes processes({"a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    if (auto wrong = one_turn(*node, 2, 0); !wrong.empty()) return wrong;
    if (rank == 1) ::raise(SIGSTOP);
    return one_turn(*node, 2, 1);
  });
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(processes.pid(1)), &info, WSTOPPED | WNOWAIT), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::kill(processes.pid(1), SIGCONT);
  processes.expect_all_well();
}

TEST(Node, AFailureEndsTheWaitingOfAllAndLaterCalls) {
  Processes processes({"a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      node->fail(base::io_error("the first failure"), std::nullopt);
      node->fail(base::io_error("another"), 1);
    }
    if (auto wrong = differs(one_turn(*node, 3, 0), "the first failure"); !wrong.empty()) {
      return wrong;
    }
    return std::string(node->lost() ? "nobody was lost" : "");
  });
  processes.expect_all_well();
}

TEST(Node, RanksThatCallDifferentlyAreNamed) {
  Processes processes({"a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    if (rank == 1) {
      node->post(0, {NodeCall::kAlltoall, 9});
      return differs(message(node->await_delivery(0)),
                     "rank 0 exchanges 8 bytes per pair, rank 1 9 bytes per pair");
    }
    node->post(0, kCall);
    return differs(message(node->await_posts(0, kCall)),
                   "rank 0 exchanges 8 bytes per pair, rank 1 9 bytes per pair");
  });
  processes.expect_all_well();
}

// The leader waits for a rank, and the third for the leader. In the call before it was merely late.
TEST(Node, ARankThatIsElsewhereIsNotWaitedFor) {
  Processes processes({"a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    const bool odd = rank == 1;
    if (odd) {
      node->begin(7, 40);
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    node->begin(8, std::nullopt);
    if (auto wrong = one_turn(*node, 3, 0); !wrong.empty()) return wrong;
    node->begin(9, odd ? std::optional<std::uint64_t>(40) : std::nullopt);
    if (odd) return std::string();
    return differs(one_turn(*node, 3, 1),
                   "rank 1 sends 40 bytes and takes another way than rank 0, which sends it 8 "
                   "bytes: do all ranks give the same count?");
  });
  processes.expect_all_well();
}

TEST(Node, ARankThatIsElsewhereInALaterCallIsNotWaitedFor) {
  Processes processes({"a", "a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    if (rank == 1) {
      for (std::uint64_t call = 1; call <= 5; ++call) node->begin(call, 0);
      return std::string();
    }
    node->begin(2, std::nullopt);
    return differs(one_turn(*node, 3, 0),
                   "rank 1 takes another way than rank 0, which sends it 8 bytes: do all ranks "
                   "give the same count?");
  });
  processes.expect_all_well();
}

TEST(Node, ARankThatMakesNoFurtherCallIsNotWaitedFor) {
  Processes processes({"a", "a"});
  processes.start([&](std::uint32_t rank) {
    const auto node = processes.open_node(rank, patient());
    if (rank == 1) {
      node->begin(transport::Attendance::kNoFurtherCall, 0);
      return std::string();
    }
    node->begin(1, std::nullopt);
    return differs(one_turn(*node, 2, 0),
                   "rank 1 is in MPI_Finalize and does not enter this exchange: do all ranks make "
                   "the same calls, with the same counts?");
  });
  processes.expect_all_well();
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// As many as MPI libraries have communicators; half of them are led by another process.
TEST(Node, ManyCommunicatorsNeedNoMoreDescriptorsThanOne) {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::size_t kCommunicators = 1100;
  constexpr std::uint64_t kSmall = 4096;
  const Processes processes({"a", "a", "a"});
  Processes started({"a", "a", "a"});
  started.start([&](std::uint32_t rank) {
    const rlimit few{48, 48};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return std::string("setrlimit");
    std::vector<std::unique_ptr<Node>> nodes;
    std::size_t open = 0;
    for (std::size_t i = 0; i < kCommunicators; ++i) {
      // Ranks 0 and 1 change places in every other communicator.
      const std::uint32_t place = i % 2 == 1 && rank < 2 ? 1 - rank : rank;
      nodes.push_back(processes.open_node(place, patient(), kSmall));
      if (auto wrong = one_turn(*nodes.back(), kRanks, 0); !wrong.empty()) return wrong;
      if (i == 1) open = open_descriptors();
    }
    if (open_descriptors() != open) return std::string("more descriptors than for two");
    processes.bootstrap().meet(2, kRanks);
    if (rank == 2) ::raise(SIGKILL);
    for (const std::size_t i : {std::size_t{0}, kCommunicators - 1}) {
      const auto wrong =
          differs(one_turn(*nodes[i], kRanks, 1), "rank 2 is lost: its process has ended");
      if (!wrong.empty()) return wrong;
    }
    nodes.clear();
    return std::string(open_descriptors() < open ? "" : "descriptors are left");
  });
  EXPECT_TRUE(started.ended_well(0));
  EXPECT_TRUE(started.ended_well(1));
  EXPECT_FALSE(started.ended_well(2));
}

TEST(NodeMemory, AnotherFileIsRefused) {
  const NodeShape shape{2, 4, 2, 1 << 16};
  LivenessFiles liveness;
  const NodeMemory::Process self{liveness, 7};
  const auto memory = NodeMemory::create(shape, {1, 2}, self);
  ASSERT_TRUE(memory) << memory.error().message;
  const int file = memory.value()->file();
  EXPECT_TRUE(NodeMemory::attach(shape, {1, 2}, ::getpid(), file, 1, self));
  const auto other_key = NodeMemory::attach(shape, {1, 3}, ::getpid(), file, 1, self);
  ASSERT_FALSE(other_key);
  EXPECT_THAT(other_key.error().message, HasSubstr("is not the memory of the rank that leads"));
  EXPECT_FALSE(NodeMemory::attach({2, 4, 2, 1 << 17}, {1, 2}, ::getpid(), file, 1, self));
  EXPECT_FALSE(NodeMemory::attach(shape, {1, 2}, ::getpid(), 9999, 1, self));
}

}  // namespace
}  // namespace alm::node
