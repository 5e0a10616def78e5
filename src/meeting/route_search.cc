#include "meeting/route_search.h"

#include <algorithm>
#include <cmath>

namespace alm::meeting {

void RouteSearch::answered(std::size_t host, const io::Address& router) {
  ++answers_;
  const auto found = std::find(routers_.begin(), routers_.end(), router);
  const auto number = static_cast<std::size_t>(found - routers_.begin());
  if (found == routers_.end()) routers_.push_back(router);
  if (met_.size() <= host) met_.resize(host + 1);
  if (met_[host].size() <= number) met_[host].resize(number + 1);
  ++met_[host][number];
}

bool RouteSearch::has_enough(std::size_t host) const {
  const std::size_t routes = routers_.size();
  if (routes == 0 || answers_ < answers_for(routes)) return false;
  if (host >= met_.size() || met_[host].size() < routes) return false;
  const auto each = std::max<std::size_t>(1, (paths_ + routes - 1) / routes);
  return std::all_of(met_[host].begin(), met_[host].end(),
                     [each](std::uint32_t met) { return met >= each; });
}

// K routes leave one of them out of n answers with a probability of at most K (1 - 1/K)^n.
std::size_t RouteSearch::answers_for(std::size_t routes) {
  constexpr double kMissed = 0.05;
  const auto more = static_cast<double>(routes + 1);
  return static_cast<std::size_t>(std::ceil(std::log(kMissed / more) / std::log(1 - 1 / more)));
}

}  // namespace alm::meeting
