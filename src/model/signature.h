// The contention signature of a network (003 Eq 4 and 5), and what two sites take with it (Eq 6
// and 7).
#pragma once

#include <cstdint>

#include "model/total_exchange.h"

namespace alm::model {

struct Signature {
  Hockney point_to_point;
  double gamma = 1;      // contention ratio
  double delta = 0;      // start-up of each simultaneous exchange, in s
  double threshold = 0;  // M: delta counts from so many bytes on
};

// Eq 5: (p-1)(alpha + m beta gamma), from m = M on with + delta. Eq 4 where delta is 0.
double signature_s(const Signature& network, std::uint32_t ranks, double bytes);

// Two clusters of n1 <= n2 hosts, and what joins them.
struct TwoSites {
  std::uint32_t n1 = 0, n2 = 0;
  Signature first, second;
  Hockney between;       // one message between the sites
  double link_beta = 0;  // seconds per byte on the link that all of them share, one way
};

// Eq 6, each host for itself: max(T_C1, T_C2) + max(n1, n2)(alpha_w + beta_w m).
double naive_sites_s(const TwoSites& sites, double bytes);
// Eq 7, Local Group, as printed: max(T_C1, T_C2) + ceil(n2/n1)(alpha_w + beta_w m n1).
double local_group_printed_s(const TwoSites& sites, double bytes);
// The same with b blocks in the largest message between the sites. The paper has b = n1, which is
// true where n1 divides n2; else it is ceil(n2 / floor(n2/n1)) at best (reference section 5, 7).
double local_group_s(const TwoSites& sites, double bytes);
std::uint32_t local_group_blocks(std::uint32_t n1, std::uint32_t n2);
// And with the true messages within the sites: a rank of C1 sends each other one of C1 its block
// and ceil(n2/n1) for C2, a rank of C2 sends two blocks.
double local_group_corrected_s(const TwoSites& sites, double bytes);

// Ours, messages between the sites all at the same time: what crosses takes the link's time, and
// the latency is waited for once. Local Group first has its local part; Multi Site sends meanwhile
// what stays within the sites, and takes as long as what is slower, the link or a host.
double local_group_overlapped_s(const TwoSites& sites, double bytes);
double multi_site_s(const TwoSites& sites, double bytes);

}  // namespace alm::model
