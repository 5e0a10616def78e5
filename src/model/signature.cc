#include "model/signature.h"

#include <algorithm>
#include <cassert>

namespace alm::model {
namespace {

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

double local_s(const TwoSites& sites, double bytes) {
  return std::max(signature_s(sites.first, sites.n1, bytes),
                  signature_s(sites.second, sites.n2, bytes));
}

}  // namespace

double signature_s(const Signature& network, std::uint32_t ranks, double bytes) {
  const Hockney contended{network.point_to_point.alpha,
                          network.point_to_point.beta * network.gamma};
  const double extra = bytes >= network.threshold ? network.delta : 0;
  return proposition_1_s(contended, ranks, bytes) + (ranks - 1) * extra;
}

double naive_sites_s(const TwoSites& sites, double bytes) {
  return local_s(sites, bytes) +
         std::max(sites.n1, sites.n2) * (sites.between.alpha + sites.between.beta * bytes);
}

std::uint32_t local_group_blocks(std::uint32_t n1, std::uint32_t n2) {
  assert(n1 > 0 && n1 <= n2);
  return n2 % n1 == 0 ? n1 : divide_up(n2, n2 / n1);
}

double local_group_s(const TwoSites& sites, double bytes) {
  const double message = bytes * local_group_blocks(sites.n1, sites.n2);
  return local_s(sites, bytes) +
         divide_up(sites.n2, sites.n1) * (sites.between.alpha + sites.between.beta * message);
}

}  // namespace alm::model
