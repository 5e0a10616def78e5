#include "model/signature.h"

#include <algorithm>
#include <cassert>

namespace alm::model {
namespace {

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

double local_s(const TwoSites& sites, double bytes_of_first, double bytes_of_second) {
  return std::max(signature_s(sites.first, sites.n1, bytes_of_first),
                  signature_s(sites.second, sites.n2, bytes_of_second));
}

double local_s(const TwoSites& sites, double bytes) { return local_s(sites, bytes, bytes); }

// Messages of local group within the sites: each block goes to its receiver or to who collects it.
double collecting_s(const TwoSites& sites, double bytes) {
  return local_s(sites, (1 + divide_up(sites.n2, sites.n1)) * bytes, 2 * bytes);
}

double crossing_s(const TwoSites& sites, std::uint32_t blocks, double bytes) {
  return divide_up(sites.n2, sites.n1) *
         (sites.between.alpha + sites.between.beta * bytes * blocks);
}

// Packets of plans between sites leave a little slower than the link takes them (plan/far.h).
constexpr double kPace = 1.015;

double link_s(const TwoSites& sites, double bytes) {
  return kPace * sites.link_beta * bytes * sites.n1 * sites.n2;
}

}  // namespace

double signature_s(const Signature& network, std::uint32_t ranks, double bytes) {
  const double extra = bytes >= network.threshold ? network.delta : 0;
  const double beta = network.point_to_point.beta * network.gamma;
  return (ranks - 1) * (network.point_to_point.alpha + bytes * beta) + (ranks - 1) * extra;
}

double naive_sites_s(const TwoSites& sites, double bytes) {
  return local_s(sites, bytes) +
         std::max(sites.n1, sites.n2) * (sites.between.alpha + sites.between.beta * bytes);
}

std::uint32_t local_group_blocks(std::uint32_t n1, std::uint32_t n2) {
  assert(n1 > 0 && n1 <= n2);
  return n2 % n1 == 0 ? n1 : divide_up(n2, n2 / n1);
}

double local_group_printed_s(const TwoSites& sites, double bytes) {
  return local_s(sites, bytes) + crossing_s(sites, sites.n1, bytes);
}

double local_group_s(const TwoSites& sites, double bytes) {
  return local_s(sites, bytes) + crossing_s(sites, local_group_blocks(sites.n1, sites.n2), bytes);
}

double local_group_corrected_s(const TwoSites& sites, double bytes) {
  return collecting_s(sites, bytes) +
         crossing_s(sites, local_group_blocks(sites.n1, sites.n2), bytes);
}

double local_group_overlapped_s(const TwoSites& sites, double bytes) {
  return collecting_s(sites, bytes) + sites.between.alpha + link_s(sites, bytes);
}

double multi_site_s(const TwoSites& sites, double bytes) {
  const std::uint32_t ranks = sites.n1 + sites.n2;
  const double hosts =
      std::max(signature_s(sites.first, ranks, bytes), signature_s(sites.second, ranks, bytes));
  return sites.between.alpha + std::max(hosts, link_s(sites, bytes));
}

}  // namespace alm::model
