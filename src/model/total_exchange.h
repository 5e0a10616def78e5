// Lower bounds of a total exchange for any matrix, where a process sends and receives one message
// at a time (003 section III): Claims 1 to 3 and Proposition 1.
#pragma once

#include <cstdint>
#include <span>

namespace alm::model {

// Hockney's terms: alpha in s, beta in s per byte.
struct Hockney {
  double alpha = 0, beta = 0;
};

struct ExchangeBounds {
  std::uint32_t startups = 0;  // Claim 1: max(Delta_s, Delta_r), the largest number of partners
  double transfer_s = 0;       // Claim 2: the most bytes sent or received by one process, x beta
  // Claim 3: both add up, if the process with most partners is also the one with most bytes (or the
  // model is synchronous), and nothing is forwarded.
  bool same_process = false;
  // The larger of the two bounds that always hold, or Claim 3 where it does.
  double seconds(const Hockney& point_to_point) const;
};

// `bytes`: [sender * ranks + receiver]; what a rank sends itself does not count.
ExchangeBounds exchange_bounds(std::span<const std::uint64_t> bytes, std::uint32_t ranks,
                               double beta);

// Proposition 1, uniform sizes: (p-1)(alpha + m beta). Also Eq 1 of 003, its first baseline.
double proposition_1_s(const Hockney& point_to_point, std::uint32_t ranks, double bytes);
// Clement et al., Eq 3 of 003, its second baseline: alpha + m beta gamma with gamma = p.
double slowdown_s(const Hockney& point_to_point, std::uint32_t ranks, double bytes);

}  // namespace alm::model
