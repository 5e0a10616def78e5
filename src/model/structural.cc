#include "model/structural.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace alm::model {
namespace {

// A link between switches is the limit if it needs so much longer than the hosts'.
constexpr double kThin = 1.01;

struct Route {
  double latency = 0;   // of the longest
  double fill = 0;      // the same without the time its host takes to send
  double distance = 0;  // the farthest, of this what the links' latencies make
  void see(const LinkBound& links, std::uint32_t from, std::uint32_t to, double packet) {
    const double seconds = links.latency_seconds(from, to, packet);
    latency = std::max(latency, seconds);
    fill = std::max(fill, seconds - links.sending_seconds(from, packet));
    distance = std::max(distance, links.distance_seconds(from, to));
  }
};

Route longest_route(const LinkBound& links, std::span<const Message> messages, double block) {
  Route longest;
  for (const Message& one : messages) {
    longest.see(links, one.from, one.to,
                std::min<double>(one.blocks * block, links.packet_bytes()));
  }
  return longest;
}

// The longest route of a complete exchange, and the mean distance from one of its ends to all
// others: the larger one of the two ends.
struct Routes {
  Route longest;
  double mean_distance = 0;
};

// Twice to the farthest: in a tree that is the longest route.
Routes longest_route(const LinkBound& links, std::uint32_t ranks, double block) {
  const double packet = std::min<double>(block, links.packet_bytes());
  Routes out;
  std::uint32_t from = 0;
  for (int turn = 0; turn < 2; ++turn) {
    std::uint32_t far = from;
    double most = 0, distances = 0;
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (to == from) continue;
      out.longest.see(links, from, to, packet);
      distances += links.distance_seconds(from, to);
      const double seconds = links.latency_seconds(from, to, packet);
      if (seconds <= most) continue;
      most = seconds;
      far = to;
    }
    out.mean_distance = std::max(out.mean_distance, distances / std::max(1u, ranks - 1));
    from = far;
  }
  return out;
}

// What the window allows, beside the links. `waits`: all packets' latencies together, of which
// `distances` are those of the links; a window's worth of packets is there before any is waited
// for.
// `single`: each message is one packet.
double pace(const ExchangeShape& shape, bool single, double packets, double waits,
            double distances) {
  const bool own = single && shape.single_window_packets > 0;
  const double window = own ? shape.single_window_packets : shape.window_packets;
  if (window == 0 || (!own && packets <= shape.burst_packets)) return 0;
  return (waits - distances * std::min(1.0, window / packets)) / window;
}

double packets_of(double bytes, const LinkBound& links) {
  return std::max(1.0, std::ceil(bytes / links.packet_bytes()));
}

// What the link of this rank needs for a message of so many bytes.
double sending_s(const LinkBound& links, std::uint32_t rank, double bytes) {
  const double full = std::floor(bytes / links.packet_bytes());
  const double rest = bytes - full * links.packet_bytes();
  double seconds = full * links.sending_seconds(rank, links.packet_bytes());
  if (rest > 0) seconds += links.sending_seconds(rank, rest);
  return seconds;
}

// What the slowest host link needs for one block.
double host_s(const ExchangeShape& shape, const LinkBound& links, std::uint64_t bytes) {
  double slowest = 0;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    slowest = std::max(slowest, sending_s(links, rank, static_cast<double>(bytes)));
  }
  return slowest;
}

void add_complete(Demand& out, const ExchangeShape& shape, const Phase& phase,
                  const LinkBound& links, std::uint64_t bytes) {
  const double seconds = links.complete_seconds(bytes);
  const auto [route, mean_distance] = longest_route(links, shape.ranks, static_cast<double>(bytes));
  const double packets = (shape.ranks - 1) * packets_of(static_cast<double>(bytes), links);
  double steps = 0;
  const double host = host_s(shape, links, bytes);
  for (const Round& step : phase.steps) {
    steps += std::max(host, links.uplink_seconds(step.messages, bytes));
  }
  out.links_s += seconds;
  out.rounds_s += seconds;
  if (shape.between_sites && seconds > kThin * (shape.ranks - 1) * host) out.unpaced_s += seconds;
  out.steps_s += std::max(steps, seconds);
  out.turns_s += route.fill;
  out.distance_s += route.distance;
  out.packets += packets;
  const bool single = bytes <= links.packet_bytes();
  const double waits = packets * (route.latency - route.distance + mean_distance);
  out.pace_s += pace(shape, single, packets, waits, packets * mean_distance);
}

// The longest time over which a rank paces its messages to other sites: as in plan/far.h, full
// frames leave in even steps, the first at once.
double paced_s(const ExchangeShape& shape, const Phase& phase, const LinkBound& links,
               std::uint64_t bytes) {
  constexpr double kManyPackets = 64;  // of a block, so that the last one does not matter
  const double many = kManyPackets * links.packet_bytes();
  const double needed = phase.paced * links.complete_seconds(static_cast<std::uint64_t>(many));
  std::vector<double> now(shape.ranks, 0), at_many(shape.ranks, 0);
  for (const Round& round : phase.rounds) {
    for (const Message& one : round.messages) {
      now[one.from] += sending_s(links, one.from, one.blocks * static_cast<double>(bytes));
      at_many[one.from] += one.blocks * sending_s(links, one.from, many);
    }
  }
  double longest = 0;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    if (at_many[rank] == 0) continue;
    const double slower = std::max(1.0, needed / at_many[rank]);
    const double first = std::min(now[rank], links.sending_seconds(rank, links.packet_bytes()));
    longest = std::max(longest, (now[rank] - first) * slower + first);
  }
  return longest;
}

// A phase of rounds, or several at the same time, round by round.
class ConcurrentPhases {
 public:
  ConcurrentPhases(const ExchangeShape& shape, const LinkBound& links, std::uint64_t bytes)
      : shape_(shape), links_(links), bytes_(bytes) {}

  void join(const Phase& phase) {
    ++phases_;
    rounds_.resize(std::max(rounds_.size(), phase.rounds.size()));
    for (std::size_t i = 0; i < phase.rounds.size(); ++i) {
      const auto& messages = phase.rounds[i].messages;
      rounds_[i].messages.insert(rounds_[i].messages.end(), messages.begin(), messages.end());
    }
    windowed_ = windowed_ || phase.windowed;
    if (phase.paced > 0) paced_s_ = std::max(paced_s_, paced_s(shape_, phase, links_, bytes_));
  }

  void add_to(Demand& out) const {
    const auto block = static_cast<double>(bytes_);
    std::vector<Message> all;
    std::vector<double> sent(shape_.ranks, 0), distances(shape_.ranks, 0);
    Route longest;
    double rounds = 0;
    for (const Round& round : rounds_) {
      const Route route = longest_route(links_, round.messages, block);
      longest.latency = std::max(longest.latency, route.latency);
      longest.fill = std::max(longest.fill, route.fill);
      longest.distance = std::max(longest.distance, route.distance);
      out.turns_s += route.fill;
      out.distance_s += route.distance;
      rounds += links_.seconds(round, bytes_);
      all.insert(all.end(), round.messages.begin(), round.messages.end());
    }
    double most_blocks = 0;
    for (const Message& one : all) {
      most_blocks = std::max<double>(most_blocks, one.blocks);
      const double packets = packets_of(one.blocks * block, links_);
      sent[one.from] += packets;
      distances[one.from] += packets * links_.distance_seconds(one.from, one.to);
    }
    const double hosts = host_links_s(all);
    const double least = phases_ > 1 ? std::max(paced_s_, hosts + meeting_s()) : paced_s_;
    const double needed = links_.seconds(all, bytes_);
    const double together = std::max(needed, least);
    rounds = std::max(rounds, least);
    out.rounds_s += rounds;
    if (shape_.between_sites && windowed_ && needed > kThin * hosts) out.unpaced_s += rounds;
    out.links_s += together;
    out.steps_s += together;
    if (sent.empty()) return;
    const double packets = *std::max_element(sent.begin(), sent.end());
    out.packets += packets;
    if (!windowed_) return;
    const double far = *std::max_element(distances.begin(), distances.end());
    const double waits = packets * (longest.latency - longest.distance) + far;
    out.pace_s += pace(shape_, most_blocks * block <= links_.packet_bytes(), packets, waits, far);
  }

 private:
  // The busiest host's link, sending or receiving.
  double host_links_s(std::span<const Message> messages) const {
    std::vector<double> out(shape_.ranks, 0), in(shape_.ranks, 0);
    for (const Message& one : messages) {
      const double size = one.blocks * static_cast<double>(bytes_);
      out[one.from] += sending_s(links_, one.from, size);
      in[one.to] += sending_s(links_, one.to, size);
    }
    double busiest = 0;
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
      busiest = std::max({busiest, out[rank], in[rank]});
    }
    return busiest;
  }

  // Phases at the same time know nothing of each other: their packets meet at the hosts' ports.
  double meeting_s() const {
    constexpr double kMeetings = 4.5;
    const double packet = std::min<double>(static_cast<double>(bytes_), links_.packet_bytes());
    return kMeetings * links_.sending_seconds(0, packet);
  }

  const ExchangeShape& shape_;
  const LinkBound& links_;
  std::uint64_t bytes_;
  std::vector<Round> rounds_;
  double paced_s_ = 0;
  bool windowed_ = false;
  int phases_ = 0;
};

}  // namespace

Demand demand_of(const ExchangeShape& shape, const LinkBound& links, std::uint64_t bytes) {
  Demand out;
  for (std::size_t i = 0; i < shape.phases.size();) {
    const Phase& phase = shape.phases[i++];
    out.rounds += static_cast<double>(phase.round_count());
    if (phase.complete) {
      add_complete(out, shape, phase, links, bytes);
      continue;
    }
    ConcurrentPhases concurrent(shape, links, bytes);
    concurrent.join(phase);
    for (; i < shape.phases.size() && shape.phases[i].alongside; ++i) {
      out.rounds += static_cast<double>(shape.phases[i].round_count());
      concurrent.join(shape.phases[i]);
    }
    concurrent.add_to(out);
  }
  return out;
}

Expected expected(const Demand& demand, const ExchangeShape& shape) {
  constexpr double kTurn = 1.2;
  const double seconds =
      demand.work_s() + kTurn * (demand.turns_s - demand.distance_s) + demand.distance_s;
  if (!shape.coordinated) return {3.9 * seconds, 1.2};
  // How much of it is not the links' plain work, hence less certain.
  const double soft = 1 - std::min(1.0, demand.rounds_s / seconds);
  const bool one_round_each = demand.rounds == static_cast<double>(shape.phases.size());
  if (one_round_each) return {seconds, 0.012 + 0.2 * soft + 0.6 * demand.uneven()};
  if (shape.phases.front().interleaved) return {1.01 * seconds, 0.06 + 0.1 * soft};
  return {1.03 * seconds, 0.18 + 0.15 * soft};
}

}  // namespace alm::model
