#include "mpi/abi/messages.h"

#include <gmock/gmock.h>

#include "base/rounds.h"
#include "carrier/message_group.h"
#include "messages/io/mpi_p2p_test_library.h"

namespace alm::mpi {
namespace {

using messages::MpiTestLibrary;
using ::testing::HasSubstr;

std::unique_ptr<Messages> make(const messages::MpiApi& api, UnendedMessages& unended,
                               std::uint32_t self) {
  return std::make_unique<Messages>(
      api, unended, MpiTestLibrary::comm(), 2, self,
      [](std::uint32_t rank) { return "rank " + std::to_string(rank); }, messages::P2pOptions{});
}

// Two ranks, one block each way.
struct Call {
  base::Rounds rounds;
  std::vector<std::byte> send, recv;

  Call(std::uint32_t self, std::size_t bytes) : send(2 * bytes), recv(2 * bytes) {
    rounds.send = rounds.recv = {1 - self};
    rounds.send_begin = rounds.recv_begin = {0, 1};
  }
  transport::Exchange exchange() {
    const std::size_t bytes = send.size() / 2;
    transport::Exchange made;
    made.rounds = &rounds;
    made.send = {send.data(), bytes, bytes};
    made.recv = {recv.data(), bytes, bytes};
    return made;
  }
};

TEST(Messages, BothSizesAreNamedWhereTheyDiffer) {
  MpiTestLibrary library(2);
  library.run([&](int rank) {
    const messages::MpiApi api = MpiTestLibrary::api();
    UnendedMessages unended;
    const auto messages = make(api, unended, static_cast<std::uint32_t>(rank));
    Call call(static_cast<std::uint32_t>(rank), rank == 0 ? 40 : 30);
    const auto done = messages->run(call.exchange(), 1);
    messages->give_up();
    ASSERT_FALSE(done);
    const bool peer_first = done.error().code == base::ErrorCode::kPeerLost;
    EXPECT_THAT(
        done.error().message,
        HasSubstr(peer_first  ? "has given up, and says why"
                  : rank == 0 ? "rank 1 sends 30 bytes to rank 0, which expects 40 bytes"
                              : "rank 0 sends more than 30 bytes to rank 1, which expects 30 "
                                "bytes"));
  });
}

TEST(Messages, ACallThatFailsIsReportedWithItsCode) {
  MpiTestLibrary library(2);
  MpiTestLibrary::act_as(0);
  const messages::MpiApi api = MpiTestLibrary::api();
  UnendedMessages unended;
  const auto messages = make(api, unended, 0);
  library.fail(0, "Isend", 1);
  Call call(0, 8);
  const auto done = messages->run(call.exchange(), 1);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("MPI point-to-point failed with code"));
  messages->give_up();
}

// The other rank has sent, but nothing moves until everybody has given up on it.
TEST(Messages, MemoryStaysUntilMpiIsDoneWithIt) {
  MpiTestLibrary library(2);
  library.eager_bytes = 0;
  library.freeze(0);
  const messages::MpiApi api = MpiTestLibrary::api();
  UnendedMessages unended;
  Call other(1, 50);
  MpiTestLibrary::act_as(1);
  auto theirs = make(api, unended, 1);
  ASSERT_TRUE(theirs->start(0, other.exchange(), 1));

  MpiTestLibrary::act_as(0);
  auto memory = std::make_shared<Call>(0U, std::size_t{50});
  const std::weak_ptr<Call> seen = memory;
  {
    auto mine = make(api, unended, 0);
    ASSERT_TRUE(mine->start(0, memory->exchange(), 1));
    mine->give_up();
    ASSERT_FALSE(mine->ended());
    mine->keep(std::move(memory));
  }
  EXPECT_FALSE(unended.empty());
  unended.sweep();
  EXPECT_FALSE(seen.expired());

  library.thaw();  // writes into it
  MpiTestLibrary::act_as(1);
  theirs->give_up();  // takes what rank 0 has sent
  MpiTestLibrary::act_as(0);
  unended.sweep();
  EXPECT_TRUE(seen.expired());
  EXPECT_TRUE(unended.empty());
}

TEST(Messages, WhatHasEndedIsNotKept) {
  MpiTestLibrary library(2);
  const messages::MpiApi api = MpiTestLibrary::api();
  MpiTestLibrary::act_as(0);
  UnendedMessages unended;
  auto memory = std::make_shared<Call>(0U, std::size_t{50});
  const std::weak_ptr<Call> seen = memory;
  {
    auto mine = make(api, unended, 0);
    ASSERT_TRUE(mine->start(0, memory->exchange(), 1));
    mine->give_up();
    ASSERT_TRUE(mine->ended());
    mine->keep(std::move(memory));
  }
  EXPECT_TRUE(unended.empty());
  EXPECT_TRUE(seen.expired());
}

// Its phases pack into memory of its own, which goes with it.
TEST(MessageGroup, TheMemoryOfItsPhasesStaysUntilMpiIsDoneWithIt) {
  MpiTestLibrary library(2);
  library.eager_bytes = 0;
  library.freeze(0);
  const messages::MpiApi api = MpiTestLibrary::api();
  UnendedMessages unended;
  Call other(1, 50);
  MpiTestLibrary::act_as(1);
  auto theirs = make(api, unended, 1);
  ASSERT_TRUE(theirs->start(0, other.exchange(), 1));

  MpiTestLibrary::act_as(0);
  {
    carrier::MessageGroup group(make(api, unended, 0),
                                plan::make_plan({.ranks = 2, .self = {0}}).value());
    library.fail(0, "Testsome", 1);
    Call call(0, 50);
    EXPECT_FALSE(group.run(plan::MessageOrder::kBruck, call.send.data(), call.recv.data(), 50));
    group.give_up();
    EXPECT_FALSE(group.ended());
  }
  library.thaw();  // a sanitizer sees what it writes into
  MpiTestLibrary::act_as(1);
  theirs->give_up();
  unended.sweep();
  EXPECT_TRUE(unended.empty());
}

}  // namespace
}  // namespace alm::mpi
