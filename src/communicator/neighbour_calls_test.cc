// Nonblocking exchanges among the neighbours of a topology.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator_test_ranks.h"
#include "communicator/neighbour_test_ring.h"

namespace alm::communicator {
namespace {

constexpr job::CommHandle kRingComm = job::FakeJob::kWorld;
constexpr std::uint64_t kRingBytes = 200;

// The blocks of one call, which say who sent them to whom.
struct RingBlocks {
  explicit RingBlocks(std::uint32_t self) : rank(self), send(2 * kRingBytes), recv(2 * kRingBytes) {
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = mark(rank, neighbour(static_cast<std::uint32_t>(i / kRingBytes)));
    }
  }
  bool arrived() const {
    for (std::size_t i = 0; i < recv.size(); ++i) {
      if (recv[i] != mark(neighbour(static_cast<std::uint32_t>(i / kRingBytes)), rank))
        return false;
    }
    return true;
  }
  courier::NeighbourCall call(const char* name) {
    out.clear();
    in.clear();
    for (std::size_t slot = 0; slot < 2; ++slot) {
      out.push_back({send.data() + slot * kRingBytes, kRingBytes, 0, 1, 1});
      in.push_back({recv.data() + slot * kRingBytes, kRingBytes, 0, 1, 1});
    }
    courier::NeighbourCall made;
    made.name = name;
    made.comm = kRingComm;
    made.one_size = true;
    made.send = out;
    made.recv = in;
    made.native = [] { return job::kMpiSuccess; };
    return made;
  }

  std::uint32_t rank;
  std::vector<std::byte> send, recv;
  std::vector<job::TypedBuffer> out, in;

 private:
  static std::byte mark(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::byte>(from * 31 + to * 7 + 1);
  }
  std::uint32_t neighbour(std::uint32_t slot) const {
    return (rank + (slot == 0 ? kRanks - 1 : 1)) % kRanks;
  }
};

void on_ring(job::FakeJob& job, const std::function<void(FakeRank&)>& configure,
             const std::function<void(FakeRank&, Communicator&)>& body) {
  run_fake_ranks(job, [&](FakeRank& rank) {
    rank.job.options.progress = "thread";
    rank.job.agreement.threads = true;
    configure(rank);
    auto made = Communicator::create(rank.job, kRingComm, job.ranks(), rank.rank);
    ASSERT_TRUE(made->accelerates()) << made->obstacle();
    body(rank, *made);
    static_cast<void>(rank.ops.barrier(kRingComm, base::kSecond));
    made->close();
  });
}

TEST(NeighbourCalls, NonblockingOnesNeedNoBlockingOneBeforeThem) {
  job::FakeJob job(kRanks);
  job.neighbours = ring(kRanks, 0);
  on_ring(
      job, [](FakeRank&) {},
      [](FakeRank& rank, Communicator& comm) {
        RingBlocks first(rank.rank), second(rank.rank), third(rank.rank);
        job::RequestHandle one = 0;
        job::RequestHandle two = 0;
        ASSERT_EQ(comm.start_neighbours(first.call("MPI_Ineighbor_alltoall"), one),
                  job::kMpiSuccess);
        ASSERT_EQ(comm.start_neighbours(second.call("MPI_Ineighbor_alltoallv"), two),
                  job::kMpiSuccess);
        ASSERT_EQ(comm.alltoall_neighbours(third.call("MPI_Neighbor_alltoall")), job::kMpiSuccess);
        EXPECT_TRUE(rank.ops.request(one)->wait().good());
        EXPECT_TRUE(rank.ops.request(two)->wait().good());
        EXPECT_TRUE(first.arrived() && second.arrived() && third.arrived());
        EXPECT_EQ(rank.job.stats.record().nonblocking, 2u);
      });
}

TEST(NeighbourCalls, NonblockingOnesGoToTheLibraryWhereBlockingOnesHaveFoundItFaster) {
  job::FakeJob job(kRanks);
  job.neighbours = ring(kRanks, 0);
  const auto decided = [](FakeRank& rank) {
    rank.job.options.trials = true;
    rank.job.shape = {"1", "Fake MPI 1", "00"};
    tuning::Decision known;
    known.shape = rank.job.shape;
    known.calls = std::string(tuning::kCallsOfNeighbours);
    known.ranks = known.hosts = kRanks;
    known.least_bytes = 256;  // what a rank sends
    known.most_bytes = 511;
    known.chosen = "library";
    known.why = "the fastest of 2";
    known.ways = {{"udp sync-shuffle@balanced", "ours", 100, 8, 0}, {"library", "its", 50, 8, 0}};
    rank.job.known = {known};
  };
  on_ring(job, decided, [](FakeRank& rank, Communicator& comm) {
    RingBlocks blocks(rank.rank);
    job::RequestHandle request = 0;
    const auto call = blocks.call("MPI_Ineighbor_alltoall");
    ASSERT_EQ(comm.start_neighbours(call, request), job::kMpiSuccess) << "none so far";
    EXPECT_TRUE(rank.ops.request(request)->wait().good());
    ASSERT_EQ(comm.alltoall_neighbours(blocks.call("MPI_Neighbor_alltoall")), job::kMpiSuccess);
    EXPECT_EQ(rank.job.stats.record().native, 1u);
    EXPECT_EQ(comm.start_neighbours(call, request), std::nullopt);
  });
}

TEST(NeighbourCalls, WhereOneRankIsNotToldItsNeighboursNonblockingOnesPassThrough) {
  job::FakeJob job(kRanks);
  job.neighbours = ring(kRanks, 0);
  job.fail({1, "neighbours", 1});
  on_ring(
      job, [](FakeRank&) {},
      [](FakeRank& rank, Communicator& comm) {
        RingBlocks blocks(rank.rank);
        job::RequestHandle request = 0;
        EXPECT_EQ(comm.start_neighbours(blocks.call("MPI_Ineighbor_alltoall"), request),
                  std::nullopt);
        ASSERT_EQ(comm.alltoall_neighbours(blocks.call("MPI_Neighbor_alltoall")), job::kMpiSuccess);
        EXPECT_TRUE(blocks.arrived());
      });
}

}  // namespace
}  // namespace alm::communicator
