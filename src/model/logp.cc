#include "model/logp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace alm::model {
namespace {

// Packets of the rank that has most to do in a round; full duplex: what it sends or what comes.
double busiest(const Round& round, std::uint32_t ranks, double block, std::uint32_t payload) {
  std::vector<double> sent(ranks, 0), received(ranks, 0);
  double most = 0;
  for (const Message& one : round.messages) {
    const auto packets = static_cast<double>(packets_of(one.blocks * block, payload));
    most = std::max({most, sent[one.from] += packets, received[one.to] += packets});
  }
  return most;
}

}  // namespace

std::uint64_t packets_of(double bytes, std::uint32_t payload) {
  assert(payload > 0);
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(bytes / payload)));
}

double point_to_point_s(const LogP& net, std::uint64_t k) {
  return net.once() + static_cast<double>(k) * net.g;
}

double sync_shuffle_s(const LogP& net, std::uint32_t ranks, std::uint64_t k) {
  return static_cast<double>(k) * (ranks - 1) * net.g + net.once();
}

double pairwise_s(const LogP& net, std::uint32_t ranks, std::uint64_t k) {
  const std::uint32_t rounds = ranks % 2 == 0 ? ranks - 1 : ranks;
  return rounds * (static_cast<double>(k) * net.g + net.once());
}

double group_shuffle_s(const LogP& net, std::uint32_t ranks, std::uint64_t k, std::uint32_t omega) {
  assert(omega > 0);
  const std::uint32_t rounds = (ranks - 1 + omega - 1) / omega;
  return rounds * net.once() + static_cast<double>(k) * (ranks - 1) * net.g;
}

double exchange_s(const LogP& net, const ExchangeShape& shape, std::uint64_t bytes,
                  std::uint32_t payload) {
  const auto block = static_cast<double>(bytes);
  double seconds = 0;
  for (const Phase& phase : shape.phases) {
    if (phase.complete) {
      seconds += sync_shuffle_s(net, shape.ranks, packets_of(block, payload));
    }
    for (const Round& round : phase.rounds) {
      seconds += net.once() + busiest(round, shape.ranks, block, payload) * net.g;
    }
  }
  return seconds;
}

}  // namespace alm::model
