// Myrinet clusters of 8-port switches as 001 describes them. Figure 10 is lost in the text we have;
// these graphs meet its bisections and, with the prices of the text, Table 1.
#include <fmt/core.h>

#include <array>

#include "topology/fabric.h"

namespace alm::topology {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// 1.28 Gbit/s each way, packets of 1536 bytes. FM's hosts send 0.6 Gbit/s, which is a matter of
// the host (simulator: overheads_ns), not of the network.
constexpr Medium kMyrinet{
    .rate_mbit_s = 1280, .latency_us = 0.1, .queue_packets = 4, .lossless = true};
constexpr std::uint32_t kPacketBytes = 1536;
// 001, 1999 prices: a card, a box with two switches of 8 ports, a cable.
constexpr double kCard = 995, kDualSwitch = 2000, kCable = 120;

Pairs ring(std::uint32_t switches) {
  Pairs out;
  for (std::uint32_t i = 0; i < switches; ++i) out.emplace_back(i, (i + 1) % switches);
  return out;
}

// All pairs but those between the same part; `parts` of one switch each: all.
Pairs between(std::uint32_t switches, std::uint32_t parts) {
  Pairs out;
  for (std::uint32_t a = 0; a < switches; ++a) {
    for (std::uint32_t b = a + 1; b < switches; ++b) {
      if (a % parts != b % parts) out.emplace_back(a, b);
    }
  }
  return out;
}

struct Design {
  std::string_view name;
  std::string_view about;
  std::uint32_t hosts, switches;
  Pairs trunks;
};

std::vector<Design> designs() {
  Pairs chain = ring(4);
  chain.pop_back();
  Pairs doubled = ring(4);
  for (const auto& trunk : ring(4)) doubled.push_back(trunk);
  return {{"1", "a chain of four switches", 16, 4, chain},
          {"2", "a ring of four switches", 16, 4, ring(4)},
          {"4", "four switches, every two linked", 16, 4, between(4, 4)},
          {"5", "two times three switches, each linked to the other three", 16, 6, between(6, 2)},
          {"6", "six switches in pairs, each linked to the other pairs", 16, 6, between(6, 3)},
          {"9", "six switches, every two linked", 16, 6, between(6, 6)},
          {"doubled", "a ring of four switches with two links each", 16, 4, doubled},
          {"18", "six switches, every two linked, all ports used", 18, 6, between(6, 6)}};
}

}  // namespace

base::Result<Cluster> build_myrinet(std::string_view name) {
  for (const Design& design : designs()) {
    if (design.name != name) continue;
    Fabric out(fmt::format("myrinet-{}", name),
               fmt::format("{} hosts, {}", design.hosts, design.about), design.hosts, kMyrinet);
    Cluster& cluster = out.cluster();
    cluster.name = fmt::format("myrinet-{}", name);
    cluster.framing = {.mtu_bytes = kPacketBytes, .link_header_bytes = 0};
    cluster.price = Price{.currency = "dollars",
                          .host = kCard,
                          .switch_box = kDualSwitch,
                          .switches_per_box = 2,
                          .link = kCable};
    std::uint32_t host = 0;
    for (std::uint32_t i = 0; i < design.switches; ++i) {
      const std::uint32_t node = out.add_switch(fmt::format("s{}", i));
      // 16 hosts on six switches: 3, 3, 3, 3, 2, 2.
      const std::uint32_t left = design.hosts - host, switches_left = design.switches - i;
      const std::uint32_t own = (left + switches_left - 1) / switches_left;
      for (std::uint32_t j = 0; j < own; ++j) out.attach(host++, node);
    }
    for (const auto& [a, b] : design.trunks) out.trunk(design.hosts + a, design.hosts + b);
    return out.take();
  }
  return base::bad_input(
      fmt::format("`{}` is no Myrinet of 001; expected myrinet: and a bisection of 1, 2, 4, 5, 6 "
                  "or 9, or one of Figure 2: doubled, 18",
                  name));
}

}  // namespace alm::topology
