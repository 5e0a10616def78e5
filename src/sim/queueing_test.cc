// Against results known in closed form: saturated switches (2 - sqrt 2 for head-of-line blocking)
// and the M/D/1 queue. With equal links and frames the event-driven switch is the slotted one: all
// frames begin and end together.
#include <gtest/gtest.h>

#include <deque>

#include "sim/test_program.h"

namespace alm::sim {
namespace {

constexpr Picos kSlot = 80 * kPicosPerMicro;

// Every host always has something for a host drawn at random.
class Saturation final : public Program {
 public:
  Saturation(std::uint32_t hosts, std::uint64_t slots)
      : hosts_(hosts), warm_(slots / 10 * kSlot), end_(static_cast<Picos>(slots) * kSlot) {}

  bool pull(std::uint32_t, Picos, std::uint32_t, Packet& packet) override {
    packet.destination = static_cast<std::uint32_t>(random_.below(hosts_));
    packet.bytes = 1000;
    return true;
  }
  void receive(std::uint32_t, Picos now, std::uint32_t, const Packet&) override {
    now_ = now;
    if (now > warm_) ++received_;
  }
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t) const override { return kNever; }
  bool done() const override { return now_ >= end_; }

  double throughput() const {
    const double slots = static_cast<double>(end_ - warm_) / static_cast<double>(kSlot);
    return static_cast<double>(received_) / (slots * hosts_);
  }

 private:
  Random random_{7};
  std::uint32_t hosts_;
  Picos warm_, end_, now_ = 0;
  std::uint64_t received_ = 0;
};

double throughput(std::uint32_t hosts, const topology::Switch& node, std::uint32_t output_frames,
                  std::uint64_t slots) {
  Options options;
  options.frame_bytes = 1000;
  options.output_frames = output_frames;
  auto made = Simulator::make(star(hosts, node, 200), options);
  EXPECT_TRUE(made.ok());
  Saturation program(hosts, slots);
  EXPECT_EQ(made.value()->run(program), Outcome::kDone);
  return program.throughput();
}

TEST(SaturatedSwitch, InputBuffersLoseWhatKarolFound) {
  topology::Switch node;
  node.architecture = topology::Architecture::kInput;
  EXPECT_NEAR(throughput(2, node, 0, 100'000), 0.75, 0.003);
  EXPECT_NEAR(throughput(4, node, 0, 100'000), 0.6553, 0.003);
  EXPECT_NEAR(throughput(8, node, 0, 100'000), 0.6184, 0.003);
  EXPECT_NEAR(throughput(64, node, 0, 20'000), 0.586, 0.01);
}

TEST(SaturatedSwitch, FramesAtTheOutputsRelieveIt) {
  topology::Switch node;
  node.architecture = topology::Architecture::kInput;
  double before = throughput(16, node, 0, 20'000);
  for (const std::uint32_t frames : {1u, 2u, 3u, 8u}) {
    const double now = throughput(16, node, frames, 20'000);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_GT(before, 0.8);
}

TEST(SaturatedSwitch, OutputBuffersCarryAll) {
  EXPECT_GE(throughput(8, {}, 0, 50'000), 0.99);
  EXPECT_GE(throughput(64, {}, 0, 10'000), 0.99);
}

// Poisson arrivals over a link that takes no time to speak of, at one slow port.
class Poisson final : public Program {
 public:
  Poisson(double rho, std::uint64_t packets)
      : gap_(static_cast<Picos>(static_cast<double>(kSlot) / rho)), packets_(packets) {}

  bool pull(std::uint32_t host, Picos now, std::uint32_t, Packet& packet) override {
    if (host != 0 || next_ > now) return false;
    sent_.push_back(next_);
    next_ += random_.exponential(gap_);
    packet.destination = 1;
    packet.bytes = 1000;
    return true;
  }
  void receive(std::uint32_t, Picos now, std::uint32_t, const Packet&) override {
    waited_ += static_cast<double>(now - sent_.front() - kSlot);
    sent_.pop_front();
    ++received_;
  }
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t host) const override { return host == 0 ? next_ : kNever; }
  bool done() const override { return received_ >= packets_; }
  // In service times.
  double mean_wait() const {
    return waited_ / static_cast<double>(received_) / static_cast<double>(kSlot);
  }

 private:
  Random random_{11};
  Picos gap_;
  std::uint64_t packets_, received_ = 0;
  Picos next_ = 0;
  std::deque<Picos> sent_;
  double waited_ = 0;
};

TEST(MD1, MeanWaitIsPollaczekKhinchine) {
  topology::Cluster cluster = star(2, {}, 1'000'000);
  cluster.links[0].rate_up_mbit_s = 100'000'000;
  const auto check = [&](double rho, std::uint64_t packets, double tolerance) {
    auto made = Simulator::make(cluster, {});
    ASSERT_TRUE(made.ok());
    Poisson program(rho, packets);
    made.value()->run(program);
    const double expected = rho / (2 * (1 - rho));
    EXPECT_NEAR(program.mean_wait() / expected, 1, tolerance) << rho;
  };
  check(0.5, 1'000'000, 0.01);
  check(0.8, 2'000'000, 0.02);
  check(0.95, 6'000'000, 0.05);
}

}  // namespace
}  // namespace alm::sim
