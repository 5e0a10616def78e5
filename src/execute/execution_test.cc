#include "execute/execution.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "execute/message_board_test.h"
#include "plan/host_aggregation.h"

namespace alm::execute {
namespace {

using plan::Algorithm;
using plan::Plan;
using Matrix = std::vector<std::uint64_t>;  // bytes, [origin * ranks + destination]

constexpr Algorithm kAll[] = {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) Algorithm::enumerator,
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
};

std::vector<Plan> plans_of(std::uint32_t ranks, Algorithm algorithm,
                           const std::vector<std::uint32_t>& shape = {}) {
  std::vector<Plan> plans;
  plan::Request request{.ranks = ranks, .self = {}, .algorithm = algorithm, .shape = shape};
  // Those that know sites have three, dealt out.
  for (std::uint32_t rank = 0; rank < ranks; ++rank) request.site_of.push_back(rank % 3);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    request.self = {rank};
    auto plan = plan::make_plan(request);
    if (!plan) return {};
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

// Lets one rank run at a time: whoever waits hands the baton on.
class Baton {
 public:
  explicit Baton(std::uint32_t ranks) : left_(ranks, true) {}

  void take(std::uint32_t rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == rank; });
  }
  void hand_on(std::uint32_t rank) {
    {
      const std::lock_guard lock(mutex_);
      for (std::uint32_t i = 1; i <= left_.size(); ++i) {
        turn_ = (rank + i) % static_cast<std::uint32_t>(left_.size());
        if (left_[turn_]) break;
      }
    }
    changed_.notify_all();
  }
  void leave(std::uint32_t rank) {
    left_[rank] = false;
    hand_on(rank);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> left_;
  std::uint32_t turn_ = 0;
};

std::byte pattern(std::uint64_t origin, std::uint64_t destination, std::uint64_t at) {
  return static_cast<std::byte>((origin * 131 + destination * 17 + at * 7 + 1) * 0x9E3779B1u >> 13);
}

// Empty: every byte has come where it belongs, in two exchanges after another.
std::string run(const std::vector<Plan>& plans, const Matrix& bytes, bool uniform,
                std::uint64_t seed) {
  const auto ranks = static_cast<std::uint32_t>(plans.size());
  Board board(seed);
  Baton baton(ranks);
  std::vector<std::string> wrong(ranks);
  const auto body = [&](std::uint32_t self) {
    baton.take(self);
    Execution execution(plans[self]);
    BoardCarrier carrier(board, plans[self], [&] {
      baton.hand_on(self);
      baton.take(self);
    });
    for (int exchange = 0; exchange < 2; ++exchange) {
      std::vector<std::uint64_t> send_at, recv_at, send_size, recv_size;
      std::uint64_t send_end = 0;
      std::uint64_t recv_end = 0;
      for (std::uint32_t peer = 0; peer < ranks; ++peer) {
        send_at.push_back(send_end);
        recv_at.push_back(recv_end);
        send_size.push_back(bytes[self * ranks + peer]);
        recv_size.push_back(bytes[peer * ranks + self]);
        send_end += send_size.back();
        recv_end += recv_size.back();
      }
      std::vector<std::byte> send(send_end + 1);
      std::vector<std::byte> recv(recv_end + 1, std::byte{0xEE});
      for (std::uint32_t peer = 0; peer < ranks; ++peer) {
        for (std::uint64_t i = 0; i < send_size[peer]; ++i) {
          send[send_at[peer] + i] = pattern(self + exchange, peer, i);
        }
      }
      Amounts amounts;
      transport::ConstBlocks from{send.data()};
      transport::MutableBlocks to{recv.data()};
      if (uniform) {
        amounts.each = from.stride = from.bytes = to.stride = to.bytes = bytes[1];
      } else {
        amounts.all = bytes;
        from.displacement = send_at;
        from.size = send_size;
        to.displacement = recv_at;
        to.size = recv_size;
      }
      const auto done = execution.run(carrier, from, to, amounts);
      if (!done) wrong[self] = done.error().message;
      for (std::uint32_t peer = 0; peer < ranks; ++peer) {
        for (std::uint64_t i = 0; i < recv_size[peer]; ++i) {
          const std::byte expected =
              peer == self ? std::byte{0xEE} : pattern(peer + exchange, self, i);
          if (recv[recv_at[peer] + i] == expected) continue;
          wrong[self] = "rank " + std::to_string(self) + " has a wrong byte from rank " +
                        std::to_string(peer);
        }
      }
    }
    baton.leave(self);
  };
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (auto& thread : threads) thread.join();
  for (const auto& text : wrong) {
    if (!text.empty()) return text;
  }
  return board.messages.empty() ? "" : "a message is left over";
}

Matrix equal(std::uint32_t ranks, std::uint64_t bytes) {
  return Matrix(std::size_t{ranks} * ranks, bytes);
}

// Sizes of all kinds, many of them none.
Matrix uneven(std::uint32_t ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Matrix matrix(std::size_t{ranks} * ranks);
  for (auto& bytes : matrix) bytes = random() % 3 == 0 ? 0 : random() % 40;
  return matrix;
}

TEST(Execution, EqualBlocksArriveByEveryAlgorithm) {
  for (const Algorithm algorithm : kAll) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 6u, 9u, 12u, 13u}) {
      const auto plans = plans_of(ranks, algorithm);
      if (plans.empty()) continue;
      EXPECT_EQ(run(plans, equal(ranks, 5), true, ranks), "") << name_of(algorithm) << " " << ranks;
    }
  }
}

TEST(Execution, UnequalBlocksArriveByEveryAlgorithm) {
  for (const Algorithm algorithm : kAll) {
    for (const std::uint32_t ranks : {2u, 4u, 6u, 9u, 12u}) {
      const auto plans = plans_of(ranks, algorithm);
      if (plans.empty()) continue;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        EXPECT_EQ(run(plans, uneven(ranks, seed), false, seed), "")
            << name_of(algorithm) << " " << ranks << " seed " << seed;
      }
    }
  }
}

TEST(Execution, ManyPhasesOverlapInAnyOrderOfArrival) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(run(plans_of(16, Algorithm::kGrid, {2, 2, 2, 2}), equal(16, 3), true, seed), "");
    EXPECT_EQ(run(plans_of(16, Algorithm::kGrid, {2, 2, 4}), uneven(16, seed), false, seed), "");
  }
}

TEST(Execution, BlocksArriveOverHostsWithSeveralRanks) {
  const std::vector<std::string_view> hosts = {"a", "a", "b", "c", "c", "c", "d", "b"};
  const auto where = plan::Placement::of(hosts);
  for (const Algorithm algorithm : kAll) {
    const auto of_hosts = plans_of(where.hosts(), algorithm);
    std::vector<Plan> plans;
    for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
      plans.push_back(plan::over_hosts(of_hosts[where.host_of[rank]], where, {rank}));
    }
    EXPECT_EQ(run(plans, equal(8, 6), true, 1), "") << name_of(algorithm);
    EXPECT_EQ(run(plans, uneven(8, 2), false, 2), "") << name_of(algorithm);
  }
}

}  // namespace
}  // namespace alm::execute
