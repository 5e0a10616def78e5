#include "model/total_exchange.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace alm::model {

double ExchangeBounds::seconds(const Hockney& point_to_point) const {
  const double starting = startups * point_to_point.alpha;
  return same_process ? starting + transfer_s : std::max(starting, transfer_s);
}

ExchangeBounds exchange_bounds(std::span<const std::uint64_t> bytes, std::uint32_t ranks,
                               double beta) {
  assert(bytes.size() == std::size_t{ranks} * ranks);
  struct Side {
    std::uint32_t partners = 0;
    double bytes = 0;
  };
  std::vector<Side> sides(std::size_t{2} * ranks);  // senders, then receivers
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      const std::uint64_t size = bytes[std::size_t{from} * ranks + to];
      if (from == to || size == 0) continue;
      for (Side* side : {&sides[from], &sides[ranks + to]}) {
        side->partners += 1;
        side->bytes += static_cast<double>(size);
      }
    }
  }
  ExchangeBounds out;
  double most = 0;
  for (const Side& side : sides) {
    out.startups = std::max(out.startups, side.partners);
    most = std::max(most, side.bytes);
  }
  out.transfer_s = most * beta;
  out.same_process = std::any_of(sides.begin(), sides.end(), [&](const Side& side) {
    return side.partners == out.startups && side.bytes == most;
  });
  return out;
}

double proposition_1_s(const Hockney& point_to_point, std::uint32_t ranks, double bytes) {
  return (ranks - 1) * (point_to_point.alpha + bytes * point_to_point.beta);
}

double slowdown_s(const Hockney& point_to_point, std::uint32_t ranks, double bytes) {
  return point_to_point.alpha + bytes * point_to_point.beta * ranks;
}

}  // namespace alm::model
