#include "probe/io/udp_runner.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace alm::probe::io {
namespace {

// Two runners on the loopback interface, each in a thread of its own.
TEST(UdpRunner, CarriesAnExperimentOut) {
  Secret secret{};
  secret[5] = std::byte{7};
  std::array<std::unique_ptr<UdpRunner>, 2> runners;
  std::vector<alm::io::Address> peers;
  for (auto& runner : runners) {
    auto opened = UdpRunner::open("127.0.0.1", secret);
    ASSERT_TRUE(opened) << opened.error().message;
    runner = std::move(opened).value();
    peers.push_back(runner->local());
  }
  for (auto& runner : runners) runner->set_peers(peers);
  const Experiment experiment{.number = 4,
                              .duration = 60 * base::kMillisecond,
                              .flows = {{.from = 0,
                                         .to = 1,
                                         .start = 0,
                                         .interval = base::kMillisecond / 2,
                                         .packets = 20,
                                         .bytes = 500},
                                        {.from = 1,
                                         .to = 0,
                                         .start = 0,
                                         .interval = 20 * base::kMillisecond,
                                         .packets = 3,
                                         .bytes = 100,
                                         .kind = FlowKind::kEcho},
                                        {.from = 0,
                                         .to = 1,
                                         .start = 0,
                                         .interval = base::kMillisecond,
                                         .packets = 5,
                                         .bytes = kHeaderBytes,
                                         .stamped = true}}};
  const Nanos begin = realtime_now() + 10 * base::kMillisecond;
  std::array<base::Result<Log>, 2> logs{Log{}, Log{}};
  std::thread other([&] { logs[1] = runners[1]->run(experiment, 1, begin); });
  logs[0] = runners[0]->run(experiment, 0, begin);
  other.join();
  ASSERT_TRUE(logs[0]) << logs[0].error().message;
  ASSERT_TRUE(logs[1]) << logs[1].error().message;
  EXPECT_GE(realtime_now(), begin + experiment.duration);
  EXPECT_EQ(logs[0].value().sent.size(), 25u);
  // The kernel says when packets left that are stamped.
  for (const Sent& packet : logs[0].value().sent) {
    if (packet.flow == 2) {
      EXPECT_GE(packet.left, packet.at);
    } else {
      EXPECT_EQ(packet.left, -1);
    }
  }
  std::size_t one_way = 0, answers = 0;
  for (const Received& packet : logs[1].value().received) {
    one_way += packet.flow == 0 ? 1 : 0;
    answers += packet.flow == 1 && packet.answer == 1 ? 1 : 0;
    EXPECT_GE(packet.at, packet.sent);
    EXPECT_GE(packet.seen, packet.at);
  }
  EXPECT_EQ(one_way, 20u);
  EXPECT_EQ(answers, 3u);
}

TEST(UdpRunner, RefusesWhatTheInterfaceDoesNotTake) {
  auto runner = UdpRunner::open("127.0.0.1", Secret{});
  ASSERT_TRUE(runner);
  runner.value()->set_peers({runner.value()->local(), runner.value()->local()});
  const Experiment experiment{.number = 1,
                              .duration = 1000,
                              .flows = {{.from = 0, .to = 1, .packets = 1, .bytes = 60'000}}};
  const auto log = runner.value()->run(experiment, 0, realtime_now());
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("60000 bytes"), std::string::npos);
}

}  // namespace
}  // namespace alm::probe::io
