// What is drawn from a seed for every kind of swarm.
#pragma once

#include <cstdint>
#include <random>

#include "base/time.h"
#include "network.h"
#include "transport/config.h"

namespace alm::swarm {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  double real(double max) { return std::uniform_real_distribution<>(0, max)(random_); }

 private:
  std::mt19937_64 random_;
};

// The order of the draws is part of the recorded digests (tests/fixtures/swarm).
inline transport::Config draw_config(Draw& draw) {
  transport::Config config;
  config.datagram_bytes = static_cast<std::uint32_t>(80 + draw.below(120));
  config.window_packets = static_cast<std::uint32_t>(1 + draw.below(draw.below(2) != 0 ? 6 : 40));
  config.grain_packets = static_cast<std::uint32_t>(1 + draw.below(draw.below(3) == 0 ? 8 : 1));
  config.packet_time = 1'000;
  config.timer_jitter = static_cast<base::Nanos>(10'000 + draw.below(500'000));
  config.retransmit_budget_packets = static_cast<std::uint32_t>(1 + draw.below(6));
  config.reliability = draw.below(4) == 0 ? transport::Reliability::kGoBackN
                                          : transport::Reliability::kSelectiveRepeat;
  if (draw.below(6) == 0) config.send_rule = transport::SendRule::kUnacked;
  if (draw.below(8) == 0) config.early_bytes_max = 200;
  config.peer_timeout = base::kNever / 4;
  config.peer_warning = base::kNever / 4;
  return config;
}

inline Faults draw_faults(Draw& draw) {
  Faults faults;
  if (draw.below(5) != 0) faults.drop = draw.real(draw.below(4) == 0 ? 0.3 : 0.05);
  if (draw.below(2) != 0) faults.duplicate = draw.real(0.1);
  if (draw.below(2) != 0) faults.reorder = draw.real(0.2);
  if (draw.below(3) == 0) faults.corrupt = draw.real(0.1);
  faults.delay = static_cast<base::Nanos>(500 + draw.below(20'000));
  faults.delay_spread = static_cast<base::Nanos>(1 + draw.below(100'000));
  return faults;
}

// 0: no rate limit.
inline std::uint32_t draw_port_queue(Draw& draw) {
  return draw.below(3) == 0 ? static_cast<std::uint32_t>(1 + draw.below(20)) : 0;
}

// Computing before an exchange: mostly none, seldom very long.
inline base::Nanos draw_think(Draw& draw) {
  auto time = draw.below(3) == 0 ? static_cast<base::Nanos>(draw.below(2'000'000)) : 0;
  if (draw.below(40) == 0) time += static_cast<base::Nanos>(draw.below(800'000'000));
  return time;
}

}  // namespace alm::swarm
