#include "messages/io/mpi_p2p.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <set>

#include "base/rounds.h"
#include "messages/io/mpi_p2p_test_library.h"

namespace alm::messages {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kChunk = 100;
constexpr std::array<std::size_t, 1> kStrand0{0};

// In round i everybody sends to the rank i + 1 further; or all of it in one round.
base::Rounds shift_rounds(int ranks, int self, bool in_one, bool interleaved) {
  base::Rounds rounds;
  rounds.interleaved = interleaved;
  const auto begin = [&] {
    rounds.send_begin.push_back(static_cast<std::uint32_t>(rounds.send.size()));
    rounds.recv_begin.push_back(static_cast<std::uint32_t>(rounds.recv.size()));
  };
  begin();
  for (int shift = 1; shift < ranks; ++shift) {
    rounds.send.push_back(static_cast<std::uint32_t>((self + shift) % ranks));
    rounds.recv.push_back(static_cast<std::uint32_t>((self + ranks - shift) % ranks));
    if (!in_one || shift + 1 == ranks) begin();
  }
  return rounds;
}

std::byte pattern(int from, int to, std::uint64_t at, int call) {
  const auto word = static_cast<std::uint64_t>(from * 131 + to * 31 + call * 1009 + 1) + at * 7;
  return static_cast<std::byte>((word * 0x9e3779b97f4a7c15) >> 56);
}

using Size = std::function<std::uint64_t(int from, int to)>;

// One rank's blocks of an exchange and the bytes in them.
struct Side {
  std::vector<std::uint64_t> at, size;
  std::vector<std::byte> bytes;

  void lay_out(const std::vector<std::uint64_t>& sizes, std::byte fill) {
    std::uint64_t next = 0;
    for (const std::uint64_t one : sizes) {
      at.push_back(next);
      next += one;
    }
    size = sizes;
    bytes.assign(next + 1, fill);
  }
};

struct Call {
  int ranks, self, number;
  base::Rounds rounds;
  Side send, recv;

  Call(int all, int rank, int call, base::Rounds plan, const Size& sent, const Size& expected)
      : ranks(all), self(rank), number(call), rounds(std::move(plan)) {
    std::vector<std::uint64_t> out, in;
    for (int peer = 0; peer < ranks; ++peer) {
      out.push_back(peer == self ? 0 : sent(self, peer));
      in.push_back(peer == self ? 0 : expected(peer, self));
    }
    send.lay_out(out, std::byte{0});
    recv.lay_out(in, std::byte{0xa5});
    for (int to = 0; to < ranks; ++to) {
      const auto index = static_cast<std::size_t>(to);
      for (std::uint64_t i = 0; i < send.size[index]; ++i) {
        send.bytes[send.at[index] + i] = pattern(self, to, i, number);
      }
    }
  }

  transport::Exchange exchange() {
    transport::Exchange made;
    made.rounds = &rounds;
    made.send = {send.bytes.data(), 0, 0, send.at, send.size};
    made.recv = {recv.bytes.data(), 0, 0, recv.at, recv.size};
    return made;
  }
  bool has_block(std::size_t from) const {
    for (std::uint64_t i = 0; i < recv.size[from]; ++i) {
      if (recv.bytes[recv.at[from] + i] != pattern(static_cast<int>(from), self, i, number)) {
        return false;
      }
    }
    return true;
  }
  void expect_all() const {
    for (std::size_t from = 0; from < recv.size.size(); ++from) {
      EXPECT_TRUE(has_block(from)) << "call " << number << ", from " << from << " to " << self;
    }
    EXPECT_EQ(recv.bytes.back(), std::byte{0xa5});
  }
};

MpiP2p make(const MpiApi& api, int ranks, const P2pOptions& options = {.chunk_bytes = kChunk}) {
  return {api, MpiTestLibrary::comm(), static_cast<std::uint32_t>(ranks), options};
}

// Where every rank gives up: however slow the machine is, they wait for each other.
constexpr P2pOptions kPatient{.chunk_bytes = kChunk,
                              .giving_up = std::chrono::minutes(2),
                              .stay_for_others = std::chrono::minutes(2)};

int run(MpiP2p& messages, const transport::Exchange& exchange, const MessageFlow& flow) {
  if (const int code = messages.start(0, exchange, flow); code != MPI_SUCCESS) return code;
  MpiP2p::Event event;
  const int code = messages.await(kStrand0, event);
  EXPECT_TRUE(code != MPI_SUCCESS || !event.arrived);
  return code;
}

std::uint64_t uneven(int from, int to) {
  constexpr std::array<std::uint64_t, 7> kSizes{1,          0,          kChunk - 1, kChunk,
                                                kChunk + 1, 5 * kChunk, 1234};
  return kSizes[static_cast<std::size_t>(from * 3 + to * 5) % kSizes.size()];
}

TEST(MpiP2p, EveryBlockArrivesInAnyOrderOfRounds) {
  constexpr int kRanks = 5;
  for (const std::size_t eager : {std::size_t{0}, std::size_t{100000}}) {
    for (const bool in_one : {false, true}) {
      for (const bool interleaved : {false, true}) {
        MpiTestLibrary library(kRanks);
        library.eager_bytes = eager;
        library.run([&](int rank) {
          const MpiApi api = MpiTestLibrary::api();
          MpiP2p messages = make(api, kRanks);
          for (int number = 0; number < 4; ++number) {
            Call call(kRanks, rank, number, shift_rounds(kRanks, rank, in_one, interleaved), uneven,
                      uneven);
            const auto outstanding = static_cast<std::uint32_t>(1 + number * 2);
            EXPECT_EQ(run(messages, call.exchange(), outstanding), MPI_SUCCESS);
            call.expect_all();
          }
          EXPECT_TRUE(messages.ended());
        });
      }
    }
  }
}

// With uneven blocks, too, where a rank may wait for what nobody sends.
TEST(MpiP2p, EveryBlockArrivesWhereWhatComesClocksWhatIsSent) {
  constexpr int kRanks = 5;
  for (const std::uint32_t window : {1u, 3u}) {
    for (const bool interleaved : {false, true}) {
      MpiTestLibrary library(kRanks);
      library.eager_bytes = 100000;
      library.run([&](int rank) {
        const MpiApi api = MpiTestLibrary::api();
        MpiP2p messages = make(api, kRanks);
        for (int number = 0; number < 3; ++number) {
          Call call(kRanks, rank, number, shift_rounds(kRanks, rank, true, interleaved), uneven,
                    uneven);
          EXPECT_EQ(run(messages, call.exchange(), {4, window, kChunk / 3}), MPI_SUCCESS);
          call.expect_all();
        }
        EXPECT_TRUE(messages.ended());
      });
    }
  }
}

TEST(MpiP2p, ARankToWhichNothingComesSendsItsWindowAndWaits) {
  MpiTestLibrary library(2);
  library.eager_bytes = 100000;
  constexpr std::uint32_t kWindow = 3;
  const auto twenty_chunks = [](int, int) -> std::uint64_t { return 20 * kChunk - 1; };
  const MpiApi api = MpiTestLibrary::api();
  MpiTestLibrary::act_as(0);
  MpiP2p messages = make(api, 2, {.chunk_bytes = kChunk, .unclocked = std::chrono::hours(1)});
  Call call(2, 0, 0, shift_rounds(2, 0, true, true), twenty_chunks, twenty_chunks);
  ASSERT_EQ(messages.start(0, call.exchange(), {8, kWindow, 0}), MPI_SUCCESS);
  EXPECT_EQ(messages.messages_sent(), kWindow);
  MpiTestLibrary::act_as(1);
  // Slow links make a rank wait longer than its options.
  MpiP2p theirs = make(api, 2, {.chunk_bytes = kChunk, .unclocked = std::chrono::nanoseconds(0)});
  MessageFlow slow = {8, kWindow, 0};
  slow.patience = 3600 * base::kSecond;
  Call other(2, 1, 0, shift_rounds(2, 1, true, true), twenty_chunks, twenty_chunks);
  ASSERT_EQ(theirs.start(0, other.exchange(), slow), MPI_SUCCESS);
  EXPECT_EQ(theirs.messages_sent(), kWindow);
  theirs.give_up(1);
  MpiTestLibrary::act_as(0);
  messages.give_up(0);
}

// What rank 0 of three sends: (to, bytes) of its chunks.
std::vector<std::pair<int, std::size_t>> sent_by_first(MpiTestLibrary& library) {
  std::vector<std::pair<int, std::size_t>> chunks;
  for (const auto& one : library.sent()) {
    if (one.from == 0) chunks.emplace_back(one.to, one.bytes);
  }
  return chunks;
}

std::uint64_t from_first(int from, int) { return from == 0 ? 250 : 0; }

TEST(MpiP2p, ChunksOfAnInterleavedRoundAlternate) {
  MpiTestLibrary library(3);
  library.run([&](int rank) {
    const MpiApi api = MpiTestLibrary::api();
    MpiP2p messages = make(api, 3);
    Call call(3, rank, 0, shift_rounds(3, rank, true, true), from_first, from_first);
    EXPECT_EQ(run(messages, call.exchange(), 4), MPI_SUCCESS);
  });
  using Chunk = std::pair<int, std::size_t>;
  EXPECT_THAT(sent_by_first(library), ElementsAre(Chunk{1, 100}, Chunk{2, 100}, Chunk{1, 100},
                                                  Chunk{2, 100}, Chunk{1, 50}, Chunk{2, 50}));
}

TEST(MpiP2p, BlocksOfARoundThatIsNotInterleavedFollowEachOther) {
  MpiTestLibrary library(3);
  library.run([&](int rank) {
    const MpiApi api = MpiTestLibrary::api();
    MpiP2p messages = make(api, 3);
    Call call(3, rank, 0, shift_rounds(3, rank, true, false), from_first, from_first);
    EXPECT_EQ(run(messages, call.exchange(), 1), MPI_SUCCESS);
  });
  using Chunk = std::pair<int, std::size_t>;
  EXPECT_THAT(sent_by_first(library), ElementsAre(Chunk{1, 100}, Chunk{1, 100}, Chunk{1, 50},
                                                  Chunk{2, 100}, Chunk{2, 100}, Chunk{2, 50}));
}

TEST(MpiP2p, ARoundStartsWhenTheRoundBeforeIsComplete) {
  MpiTestLibrary library(3);
  library.eager_bytes = 0;
  MpiTestLibrary::act_as(0);
  const MpiApi api = MpiTestLibrary::api();
  const Size all = [](int, int) { return std::uint64_t{50}; };
  MpiP2p messages = make(api, 3);
  Call call(3, 0, 0, shift_rounds(3, 0, false, true), all, all);
  ASSERT_EQ(messages.start(0, call.exchange(), 4), MPI_SUCCESS);
  EXPECT_EQ(library.sent().size(), 1U);  // nobody has taken it
  messages.give_up(0);
}

TEST(MpiP2p, AWithheldBlockIsPassedOverUntilItIsReady) {
  constexpr int kRanks = 3;
  for (const bool in_one : {false, true}) {
    MpiTestLibrary library(kRanks);
    const Size all = [](int, int) { return std::uint64_t{250}; };
    library.run([&](int rank) {
      const MpiApi api = MpiTestLibrary::api();
      MpiP2p messages = make(api, kRanks);
      Call call(kRanks, rank, 0, shift_rounds(kRanks, rank, in_one, false), all, all);
      auto exchange = call.exchange();
      exchange.reports_arrivals = true;
      // Rank 0 has nothing for rank 1 before the block of rank 2 is there.
      std::vector<std::uint8_t> withheld(kRanks);
      if (rank == 0 && in_one) withheld[1] = 1;
      exchange.withheld = withheld;
      ASSERT_EQ(messages.start(0, exchange, 4), MPI_SUCCESS);
      withheld.assign(kRanks, 1);  // it is read at the start only
      std::set<std::uint32_t> arrived;
      MpiP2p::Event event;
      while (true) {
        ASSERT_EQ(messages.await(kStrand0, event), MPI_SUCCESS);
        if (!event.arrived) break;
        EXPECT_TRUE(call.has_block(*event.arrived));
        EXPECT_TRUE(arrived.insert(*event.arrived).second);
        if (rank == 0 && *event.arrived == 2) {
          for (const auto& one : library.sent()) {
            EXPECT_FALSE(in_one && one.from == 0 && one.to == 1);
          }
          messages.make_ready(0, 1);
        }
      }
      EXPECT_EQ(arrived.size(), 2U);
      call.expect_all();
    });
  }
}

TEST(MpiP2p, ArrivalsOfEmptyBlocksAreNotReported) {
  MpiTestLibrary library(3);
  library.run([&](int rank) {
    const MpiApi api = MpiTestLibrary::api();
    MpiP2p messages = make(api, 3);
    Call call(3, rank, 0, shift_rounds(3, rank, true, true), from_first, from_first);
    auto exchange = call.exchange();
    exchange.reports_arrivals = true;
    ASSERT_EQ(messages.start(0, exchange, 4), MPI_SUCCESS);
    std::vector<std::uint32_t> arrived;
    MpiP2p::Event event;
    while (messages.await(kStrand0, event) == MPI_SUCCESS && event.arrived) {
      arrived.push_back(*event.arrived);
    }
    EXPECT_EQ(arrived, rank == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{0});
  });
}

// Half of the ranks start the strands in the other order, and wait for one while the other
// proceeds.
TEST(MpiP2p, ExchangesOfSeveralStrandsDoNotMix) {
  constexpr int kRanks = 4;
  for (const std::size_t eager : {std::size_t{0}, std::size_t{100000}}) {
    MpiTestLibrary library(kRanks);
    library.eager_bytes = eager;
    library.run([&](int rank) {
      const MpiApi api = MpiTestLibrary::api();
      MpiP2p messages = make(api, kRanks);
      const Size other = [](int from, int to) { return uneven(to, from) + 1; };
      for (int repeat = 0; repeat < 3; ++repeat) {
        Call first(kRanks, rank, 10 + repeat, shift_rounds(kRanks, rank, false, true), uneven,
                   uneven);
        Call second(kRanks, rank, 20 + repeat, shift_rounds(kRanks, rank, true, true), other,
                    other);
        for (const bool turned : {rank % 2 == 1, rank % 2 == 0}) {
          ASSERT_EQ(turned ? messages.start(7, second.exchange(), 2)
                           : messages.start(0, first.exchange(), 2),
                    MPI_SUCCESS);
        }
        const std::array<std::size_t, 1> one{rank < 2 ? 7U : 0U};
        MpiP2p::Event event;
        ASSERT_EQ(messages.await(one, event), MPI_SUCCESS);
        EXPECT_EQ(event.index, 0U);
        const std::array<std::size_t, 3> all{3, 7, 0};  // those that run nothing are passed over
        ASSERT_EQ(messages.await(all, event), MPI_SUCCESS);
        EXPECT_EQ(event.index, rank < 2 ? 2U : 1U);
        first.expect_all();
        second.expect_all();
      }
      EXPECT_TRUE(messages.ended());
    });
  }
}

// Rank 1 sends rank 2 so much, which expects another size. Both then call again, as programs do.
void expect_mismatch(std::uint64_t sent, std::uint64_t expected, bool reports, std::size_t eager) {
  SCOPED_TRACE(testing::Message() << sent << " for " << expected << ", eager " << eager);
  constexpr int kRanks = 4;
  MpiTestLibrary library(kRanks);
  library.eager_bytes = eager;
  const auto size = [](std::uint64_t odd) {
    return [odd](int from, int to) { return from == 1 && to == 2 ? odd : std::uint64_t{150}; };
  };
  library.run([&](int rank) {
    const MpiApi api = MpiTestLibrary::api();
    MpiP2p messages = make(api, kRanks, kPatient);
    int code = MPI_SUCCESS;
    for (int number = 0; number < 2 && code == MPI_SUCCESS; ++number) {
      Call call(kRanks, rank, number, shift_rounds(kRanks, rank, false, true), size(sent),
                size(expected));
      auto exchange = call.exchange();
      exchange.reports_arrivals = reports;
      code = messages.start(0, exchange, 2);
      MpiP2p::Event event;
      do {
        if (code == MPI_SUCCESS) code = messages.await(kStrand0, event);
      } while (code == MPI_SUCCESS && event.arrived);
      if (code != MPI_SUCCESS) messages.give_up(static_cast<std::uint32_t>(rank));
      EXPECT_TRUE(messages.ended());
    }
    EXPECT_EQ(code, MPI_ERR_TRUNCATE);
    ASSERT_TRUE(messages.trouble());
    EXPECT_EQ(messages.trouble()->gave_up, rank != 2);
    if (rank != 2) return;
    EXPECT_EQ(messages.trouble()->peer, 1U);
    EXPECT_EQ(messages.trouble()->expected, expected);
    if (messages.trouble()->sent) {
      EXPECT_EQ(*messages.trouble()->sent, sent);
    } else {
      EXPECT_GT(sent, expected);
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(library.active(rank), 0U) << rank;
}

TEST(MpiP2p, BlocksOfOtherSizesThanExpectedEndOnEveryRank) {
  for (const std::size_t eager : {std::size_t{0}, std::size_t{100000}}) {
    for (const bool reports : {false, true}) {
      expect_mismatch(10, 20, reports, eager);
      expect_mismatch(20, 10, reports, eager);
      expect_mismatch(10, 950, reports, eager);
      expect_mismatch(950, 10, reports, eager);
      expect_mismatch(kChunk, 2 * kChunk, reports, eager);
      expect_mismatch(2 * kChunk, kChunk, reports, eager);
      expect_mismatch(7 * kChunk, kChunk, reports, eager);
      expect_mismatch(7 * kChunk + 1, kChunk, reports, eager);
    }
  }
}

TEST(MpiP2p, WhoGivesUpEndsTheWaitingOfTheOthers) {
  constexpr int kRanks = 4;
  MpiTestLibrary library(kRanks);
  library.eager_bytes = 0;
  const Size all = [](int, int) { return std::uint64_t{250}; };
  library.run([&](int rank) {
    const MpiApi api = MpiTestLibrary::api();
    MpiP2p messages = make(api, kRanks, kPatient);
    Call call(kRanks, rank, 0, shift_rounds(kRanks, rank, true, true), all, all);
    if (rank == 3) {
      ASSERT_EQ(messages.start(0, call.exchange(), 4), MPI_SUCCESS);
    } else {
      EXPECT_EQ(run(messages, call.exchange(), 4), MPI_ERR_TRUNCATE);
      ASSERT_TRUE(messages.trouble());
      EXPECT_TRUE(messages.trouble()->gave_up);
    }
    messages.give_up(static_cast<std::uint32_t>(rank));
    EXPECT_TRUE(messages.ended());
  });
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(library.active(rank), 0U);
}

TEST(MpiP2p, WhatARankThatDoesNotComeLeavesUnderWayIsKnown) {
  MpiTestLibrary library(2);
  library.eager_bytes = 0;
  MpiTestLibrary::act_as(0);
  const MpiApi api = MpiTestLibrary::api();
  const Size all = [](int, int) { return std::uint64_t{250}; };
  MpiP2p messages = make(api, 2);
  Call call(2, 0, 0, shift_rounds(2, 0, true, true), all, all);
  ASSERT_EQ(messages.start(0, call.exchange(), 4), MPI_SUCCESS);
  const auto begin = std::chrono::steady_clock::now();
  messages.give_up(0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_FALSE(messages.ended());
  EXPECT_EQ(library.active(0), 2U);  // chunks; the receive has been taken back

  MpiTestLibrary::act_as(1);
  MpiP2p late = make(api, 2);
  Call other(2, 1, 0, shift_rounds(2, 1, true, true), all, all);
  EXPECT_EQ(run(late, other.exchange(), 4), MPI_ERR_TRUNCATE);
  late.give_up(1);
  MpiTestLibrary::act_as(0);
  EXPECT_TRUE(messages.ended());
  EXPECT_EQ(library.active(0), 0U);
}

// Two calls on every rank, as after a failure some learn of it in the second.
TEST(MpiP2p, WhicheverCallFailsOnceAllRanksEndAndNothingStaysUnderWay) {
  constexpr int kRanks = 3;
  for (const char* function : {"Isend", "Irecv", "Testsome", "Get_count", "Iprobe"}) {
    for (const int number : {1, 2, 5, 12}) {
      SCOPED_TRACE(testing::Message() << function << " " << number);
      MpiTestLibrary library(kRanks);
      library.eager_bytes = 60;
      library.fail(1, function, number);
      std::array<int, kRanks> codes{};
      library.run([&](int rank) {
        const MpiApi api = MpiTestLibrary::api();
        MpiP2p messages = make(api, kRanks, kPatient);
        int& code = codes[static_cast<std::size_t>(rank)];
        for (int call_number = 0; call_number < 2 && code == MPI_SUCCESS; ++call_number) {
          Call call(kRanks, rank, call_number, shift_rounds(kRanks, rank, false, true), uneven,
                    uneven);
          code = run(messages, call.exchange(), 2);
          if (code == MPI_SUCCESS) call.expect_all();
          // So that all wait for each other, those whom the failure has not reached give up, too.
          if (code != MPI_SUCCESS || call_number == 1) {
            messages.give_up(static_cast<std::uint32_t>(rank));
          }
          EXPECT_TRUE(messages.ended());
        }
      });
      for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(library.active(rank), 0U);
      // The first calls are always needed; later ones may come while it gives up.
      if (number == 1 && function != std::string_view("Iprobe")) {
        EXPECT_NE(codes[1], MPI_SUCCESS);
      }
    }
  }
}

// Then what it was to take back or test may still be under way, and this is known.
TEST(MpiP2p, WhicheverCallFailsWhileGivingUpWhatStaysUnderWayIsKnown) {
  for (const char* function : {"Isend", "Cancel", "Testsome", "Iprobe", "Irecv", "Request_free"}) {
    SCOPED_TRACE(function);
    MpiTestLibrary library(2);
    MpiTestLibrary::act_as(0);
    const MpiApi api = MpiTestLibrary::api();
    const Size all = [](int, int) { return std::uint64_t{50}; };
    MpiP2p messages = make(api, 2);
    Call call(2, 0, 0, shift_rounds(2, 0, true, true), all, all);
    ASSERT_EQ(messages.start(0, call.exchange(), 4), MPI_SUCCESS);
    library.fail(0, function, 1);
    messages.give_up(0);
    EXPECT_EQ(messages.ended(), library.active(0) == 0);
  }
}

}  // namespace
}  // namespace alm::messages
