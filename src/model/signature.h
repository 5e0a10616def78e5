// The contention signature of a network (003 Eq 4 and 5), and what two sites take with it (Eq 6
// and 7).
#pragma once

#include <cstdint>

namespace alm::model {

// Hockney's terms: alpha in s, beta in s per byte.
struct Hockney {
  double alpha = 0, beta = 0;
};

struct Signature {
  Hockney point_to_point;
  double gamma = 1;      // contention ratio
  double delta = 0;      // start-up of each simultaneous exchange, in s
  double threshold = 0;  // M: delta is added for so many bytes and more
};

// Eq 5: (p-1)(alpha + m beta gamma), from m = M on with + delta. Eq 4 where delta is 0.
double signature_s(const Signature& network, std::uint32_t ranks, double bytes);

// Two clusters of n1 <= n2 hosts, and what joins them.
struct TwoSites {
  std::uint32_t n1 = 0, n2 = 0;
  Signature first, second;
  Hockney between;       // one message between the sites
  double link_beta = 0;  // seconds per byte on the link that all hosts share, in one direction
};

// Eq 6, each host for itself: max(T_C1, T_C2) + max(n1, n2)(alpha_w + beta_w m).
double naive_sites_s(const TwoSites& sites, double bytes);
// Eq 7, Local Group, as printed: max(T_C1, T_C2) + ceil(n2/n1)(alpha_w + beta_w m n1).
double local_group_printed_s(const TwoSites& sites, double bytes);
// The same with b blocks in the largest message between the sites. The paper has b = n1, which is
// true where n1 divides n2; else it is ceil(n2 / floor(n2/n1)) at best (reference section 5, 7).
double local_group_s(const TwoSites& sites, double bytes);
std::uint32_t local_group_blocks(std::uint32_t n1, std::uint32_t n2);
// The same with the true messages within the sites: a rank of C1 sends each other rank of C1 its
// block and ceil(n2/n1) blocks for C2, a rank of C2 sends two blocks.
double local_group_corrected_s(const TwoSites& sites, double bytes);

// Our versions, in which all messages between the sites go at the same time: they take the time of
// the link, and the latency counts once. Local Group does its local part first; Multi Site sends
// local messages meanwhile, and takes as long as the slower of link and host.
double local_group_overlapped_s(const TwoSites& sites, double bytes);
double multi_site_s(const TwoSites& sites, double bytes);

}  // namespace alm::model
