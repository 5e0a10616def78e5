#include "model/structural.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace alm::model {
namespace {

struct Way {
  double latency = 0;  // of the longest
  double fill = 0;     // the same without the time its host takes to send
  void see(const LinkBound& links, std::uint32_t from, std::uint32_t to, double packet) {
    const double seconds = links.latency_seconds(from, to, packet);
    latency = std::max(latency, seconds);
    fill = std::max(fill, seconds - links.sending_seconds(from, packet));
  }
};

Way longest_way(const LinkBound& links, std::span<const Message> messages, double block) {
  Way longest;
  for (const Message& one : messages) {
    longest.see(links, one.from, one.to,
                std::min<double>(one.blocks * block, links.packet_bytes()));
  }
  return longest;
}

// Of a complete exchange. Twice to the farthest: in a tree that is the longest way.
Way longest_way(const LinkBound& links, std::uint32_t ranks, double block) {
  const double packet = std::min<double>(block, links.packet_bytes());
  Way longest;
  std::uint32_t from = 0;
  for (int turn = 0; turn < 2; ++turn) {
    std::uint32_t far = from;
    double most = 0;
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (to == from) continue;
      longest.see(links, from, to, packet);
      const double seconds = links.latency_seconds(from, to, packet);
      if (seconds <= most) continue;
      most = seconds;
      far = to;
    }
    from = far;
  }
  return longest;
}

// What the window allows, beside the links.
double pace(const Course& course, double packets, double latency) {
  if (course.window_packets == 0 || packets <= course.burst_packets) return 0;
  return packets * latency / course.window_packets;
}

double packets_of(double bytes, const LinkBound& links) {
  return std::max(1.0, std::ceil(bytes / links.packet_bytes()));
}

// What the slowest host link needs for one block.
double host_s(const Course& course, const LinkBound& links, std::uint64_t bytes) {
  double slowest = 0;
  for (std::uint32_t rank = 0; rank < course.ranks; ++rank) {
    const auto block = static_cast<double>(bytes);
    const double full = std::floor(block / links.packet_bytes());
    const double rest = block - full * links.packet_bytes();
    double seconds = full * links.sending_seconds(rank, links.packet_bytes());
    if (rest > 0) seconds += links.sending_seconds(rank, rest);
    slowest = std::max(slowest, seconds);
  }
  return slowest;
}

void add_complete(Demand& out, const Course& course, const Phase& phase, const LinkBound& links,
                  std::uint64_t bytes) {
  const double seconds = links.complete_seconds(bytes);
  const Way way = longest_way(links, course.ranks, static_cast<double>(bytes));
  const double packets = (course.ranks - 1) * packets_of(static_cast<double>(bytes), links);
  double steps = 0;
  const double host = host_s(course, links, bytes);
  for (const Round& step : phase.steps) {
    steps += std::max(host, links.uplink_seconds(step.messages, bytes));
  }
  out.links_s += seconds;
  out.rounds_s += seconds;
  out.steps_s += std::max(steps, seconds);
  out.fills_s += way.fill;
  out.turns_s += way.fill;
  out.packets += packets;
  out.pace_s += pace(course, packets, way.latency);
}

void add_rounds(Demand& out, const Course& course, const Phase& phase, const LinkBound& links,
                std::uint64_t bytes) {
  const auto block = static_cast<double>(bytes);
  std::vector<Message> all;
  std::vector<double> sent(course.ranks, 0);
  Way longest;
  for (const Round& round : phase.rounds) {
    const Way way = longest_way(links, round.messages, block);
    longest.latency = std::max(longest.latency, way.latency);
    longest.fill = std::max(longest.fill, way.fill);
    out.turns_s += way.fill;
    out.rounds_s += links.seconds(round, bytes);
    all.insert(all.end(), round.messages.begin(), round.messages.end());
    for (const Message& one : round.messages) {
      sent[one.from] += packets_of(one.blocks * block, links);
    }
  }
  out.fills_s += longest.fill;
  const double together = links.seconds(all, bytes);
  out.links_s += together;
  out.steps_s += together;
  if (sent.empty()) return;
  const double packets = *std::max_element(sent.begin(), sent.end());
  out.packets += packets;
  out.pace_s += pace(course, packets, longest.latency);
}

}  // namespace

Demand demand_of(const Course& course, const LinkBound& links, std::uint64_t bytes) {
  Demand out;
  for (const Phase& phase : course.phases) {
    out.rounds += static_cast<double>(phase.round_count());
    if (phase.complete) {
      add_complete(out, course, phase, links, bytes);
    } else {
      add_rounds(out, course, phase, links, bytes);
    }
  }
  return out;
}

Expected expected(const Demand& demand, const Course& course) {
  constexpr double kTurn = 1.2;
  const double seconds = demand.work_s() + kTurn * demand.turns_s;
  if (!course.coordinated) return {3.9 * seconds, 1.2};
  // How much of it is not the links' plain work, hence less certain.
  const double soft = 1 - std::min(1.0, demand.rounds_s / seconds);
  const bool one_round_each = demand.rounds == static_cast<double>(course.phases.size());
  if (one_round_each) return {seconds, 0.012 + 0.2 * soft + 0.6 * demand.uneven()};
  if (course.phases.front().interleaved) return {1.01 * seconds, 0.06 + 0.1 * soft};
  return {1.03 * seconds, 0.18 + 0.15 * soft};
}

}  // namespace alm::model
