// Costs of exchanges in the terms of Tam and Wang (000 Eq 1, 2, 6; 002): packets, overheads, gaps.
// They hold while O_s + O_r + U_r < g < L, on one switch that loses nothing.
#pragma once

#include <cstdint>

#include "model/exchange_shape.h"

namespace alm::model {

// Seconds, per packet (reference section 1).
struct LogP {
  double o_s = 0, o_r = 0, u_r = 0;  // overheads: sender, receiver's kernel, receiver's process
  double g = 0;                      // the larger of g_s and g_r
  double latency = 0;                // L

  // T_w = O_s + L - g + O_r + U_r: the time of an exchange beyond its packets.
  double once() const { return o_s + latency - g + o_r + u_r; }
  // The full-duplex assumption: hosts are never the limit.
  bool ordering_holds() const { return o_s + o_r + u_r < g && g < latency; }
};

// Packets of `payload` bytes that a message takes; an empty message takes one.
std::uint64_t packets_of(double bytes, std::uint32_t payload);

// 000 Eq 1: one message of k packets. T = O_s + (k-1) g + L + O_r + U_r.
double point_to_point_s(const LogP& net, std::uint64_t k);
// 000 Eq 2: synchronous shuffle, the bandwidth bound. T = k (p-1) g + T_w.
double sync_shuffle_s(const LogP& net, std::uint32_t ranks, std::uint64_t k);
// 000 Eq 6: generalised pairwise. T = (p-1)(k g + T_w); p rounds for odd p.
double pairwise_s(const LogP& net, std::uint32_t ranks, std::uint64_t k);
// 002: rounds of omega partners, each paying T_w once. ceil((p-1)/omega) T_w + k (p-1) g. omega = 1
// is pairwise of an even number, omega = p-1 the synchronous shuffle. Our reading: the thesis's
// formula is not in the text.
double group_shuffle_s(const LogP& net, std::uint32_t ranks, std::uint64_t k, std::uint32_t omega);
// Any plan, aggregating ones included: rounds one after the other, each T_w and the packets of the
// rank that sends or receives most. Grid, Bruck and recursive doubling follow from their phases.
double exchange_s(const LogP& net, const ExchangeShape& shape, std::uint64_t bytes,
                  std::uint32_t payload);

}  // namespace alm::model
