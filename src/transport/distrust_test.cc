// What the window is once a cluster file is refuted.
#include <gtest/gtest.h>

#include "transport/engine.h"

namespace alm::transport {
namespace {

constexpr PeerId kPeers = 2;
constexpr std::uint64_t kLarge = 1'000'000, kFewPackets = 40'000;

class DistrustTest : public testing::Test {
 protected:
  static Config told() {
    Config config;
    config.window_packets = 12;
    config.burst_packets = 50;
    config.knows_rate = true;
    config.refuted_seeks_from = 4;
    config.refuted_window_packets = 400;
    return config;
  }
  // Packets that leave before anything has come.
  static int sent_at_once(Engine& engine, std::uint64_t block = kLarge) {
    Rounds rounds;
    rounds.send = rounds.recv = {1};
    rounds.send_begin = rounds.recv_begin = {0, 1};
    engine.start(0, rounds, {block, {}}, {block, {}});
    Emission out;
    int sent = 0;
    while (engine.next(0, &out)) ++sent;
    engine.abandon(std::nullopt);
    return sent;
  }
};

TEST_F(DistrustTest, AnExchangeOfFewPacketsHasNoWindowAsLongAsTheFileIsBelieved) {
  Engine believes(told(), 0, kPeers), distrusts(told(), 0, kPeers);
  distrusts.distrust_file();
  EXPECT_GT(sent_at_once(believes, kFewPackets), 20);
  EXPECT_EQ(sent_at_once(distrusts, kFewPackets), 12);
}

TEST_F(DistrustTest, TheWindowIsSoughtFromTheOneOfTheFileOn) {
  Engine engine(told(), 0, kPeers);
  engine.distrust_file();
  EXPECT_EQ(engine.counters().files_distrusted, 1u);
  engine.distrust_file();
  EXPECT_EQ(engine.counters().files_distrusted, 1u) << "once";
  EXPECT_EQ(sent_at_once(engine), 12);
}

TEST_F(DistrustTest, ItIsSoughtFromWhatIsSafeOnWhereThatIsMore) {
  Config config = told();
  config.window_packets = 2;
  Engine engine(config, 0, kPeers);
  engine.distrust_file();
  EXPECT_EQ(sent_at_once(engine), 4);
}

TEST_F(DistrustTest, AWindowThatWasAskedForStays) {
  Config config = told();
  config.refuted_window_packets = 0;
  config.window_packets = 2;
  Engine engine(config, 0, kPeers);
  engine.distrust_file();
  EXPECT_EQ(engine.counters().files_distrusted, 0u);
  EXPECT_EQ(sent_at_once(engine), 2);
}

}  // namespace
}  // namespace alm::transport
