#include "communicator/neighbourhood.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "communicator/neighbour_test_ring.h"
#include "job/fake_mpi_test_ops.h"

namespace alm::communicator {
namespace {

using job::Neighbours;

// Edges drawn at random, several between two ranks and some from a rank to itself, in slots of any
// order; a few slots lead nowhere.
std::vector<Neighbours> random_graph(std::mt19937& random, std::uint32_t ranks) {
  const auto below = [&](std::uint32_t limit) {
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
  };
  std::vector<Neighbours> all(ranks);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    const std::uint32_t slots = below(5);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      const bool nobody = below(6) == 0;
      const std::uint32_t to = nobody ? Neighbours::kNobody : below(ranks);
      all[from].to.push_back(to);
      if (nobody) {
        all[from].from.emplace_back();
      } else {
        all[to].from.push_back({from, slot});
      }
    }
  }
  for (Neighbours& one : all) std::shuffle(one.from.begin(), one.from.end(), random);
  return all;
}

std::vector<Neighbourhood> learn(const std::vector<Neighbours>& graph) {
  const auto ranks = static_cast<std::uint32_t>(graph.size());
  std::vector<Neighbourhood> all(ranks);
  job::FakeJob job(ranks);
  job.neighbours = graph;
  job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
    EXPECT_TRUE(all[rank].learn(ops, job::FakeJob::kWorld, ranks, rank).ok());
  });
  return all;
}

// Blocks of `bytes`, which nobody reads: where each lies says which slot it is of.
std::vector<job::TypedBuffer> slots_of(std::vector<char>& memory, std::size_t slots,
                                       std::int64_t bytes) {
  memory.resize(slots);
  std::vector<job::TypedBuffer> buffers;
  for (char& place : memory) buffers.push_back({&place, bytes, 0, 1, 1});
  return buffers;
}

TEST(Neighbourhood, EveryBlockComesFromTheSlotThatTheLibrarySays) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::uint32_t ranks = 2 + seed % 6;
    const auto graph = random_graph(random, ranks);
    auto all = learn(graph);
    std::vector<std::vector<char>> out(ranks), in(ranks);
    std::vector<std::vector<job::TypedBuffer>> send(ranks), recv(ranks);
    std::vector<courier::BlockCall> calls;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      send[rank] = slots_of(out[rank], graph[rank].to.size(), 3);
      recv[rank] = slots_of(in[rank], graph[rank].from.size(), 3);
      courier::NeighbourCall call;
      call.send = send[rank];
      call.recv = recv[rank];
      calls.push_back(all[rank].blocks_of(call));
    }
    std::size_t edges = 0;
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint32_t from = 0; from < ranks; ++from) {
        std::vector<std::uint32_t> sent;  // slots, in the order in which they travel
        for (std::size_t i = 0; i < calls[from].send.size(); ++i) {
          if (calls[from].send_to[i] != to) continue;
          sent.push_back(static_cast<std::uint32_t>(
              static_cast<const char*>(calls[from].send[i].base) - out[from].data()));
        }
        std::size_t next = 0;
        for (std::size_t i = 0; i < calls[to].recv.size(); ++i) {
          if (calls[to].recv_from[i] != from) continue;
          const auto slot = static_cast<const char*>(calls[to].recv[i].base) - in[to].data();
          ASSERT_LT(next, sent.size());
          EXPECT_EQ(graph[to].from[slot].rank, from);
          EXPECT_EQ(graph[to].from[slot].slot, sent[next++]);
        }
        EXPECT_EQ(next, sent.size());
        edges += next;
      }
    }
    std::size_t slots = 0;
    for (const courier::BlockCall& call : calls) slots += call.send.size();
    EXPECT_EQ(edges, slots);
  }
}

TEST(Neighbourhood, BlocksOfOneSizeAreKnownToAllWhereEdgesReachEveryRank) {
  std::vector<char> memory;
  const auto blocks = slots_of(memory, 2, 100);
  courier::NeighbourCall call;
  call.send = call.recv = blocks;
  call.one_size = true;
  for (const auto& one : learn(ring(5, 0))) {
    EXPECT_TRUE(one.connected());
    EXPECT_EQ(one.fullest(), 2u);
    EXPECT_EQ(one.most_bytes(call), 200u);
  }
  const auto parted = learn(ring(4, 1));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(parted[rank].connected());
    EXPECT_EQ(parted[rank].most_bytes(call), 0u);
  }
  call.one_size = false;
  EXPECT_EQ(learn(ring(5, 0))[0].most_bytes(call), 0u);
}

TEST(Neighbourhood, OfTwoRanksEachMaySendBlocksOfAnotherSize) {
  std::vector<char> memory;
  const auto blocks = slots_of(memory, 2, 100);
  courier::NeighbourCall call;
  call.send = call.recv = blocks;
  call.one_size = true;
  EXPECT_FALSE(learn(ring(2, 0))[0].connected());
  EXPECT_EQ(learn(ring(2, 0))[0].most_bytes(call), 0u);
}

TEST(Neighbourhood, EdgesOfARankToItselfLoadNoLink) {
  auto graph = ring(3, 0);
  graph[1].to.push_back(1);
  graph[1].from.push_back({1, 2});
  std::vector<char> memory;
  const auto blocks = slots_of(memory, 3, 10);
  courier::NeighbourCall call;
  call.send = call.recv = blocks;
  call.one_size = true;
  const auto all = learn(graph);
  EXPECT_EQ(all[0].fullest(), 2u);
  EXPECT_EQ(all[0].most_bytes(call), 30u);
}

TEST(Neighbourhood, ARankThatIsNotToldItsNeighboursSaysSo) {
  job::FakeJob job(2);
  job.neighbours = ring(2, 0);
  job.fail({1, "neighbours", 1});
  job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
    Neighbourhood one;
    EXPECT_FALSE(one.learn(ops, job::FakeJob::kWorld, 2, rank).ok());
  });
}

}  // namespace
}  // namespace alm::communicator
