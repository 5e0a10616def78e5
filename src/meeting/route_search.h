// Says when a host has been asked about enough five-tuples: routers answer few questions a second,
// and every rank asks at once. Hosts are compared, because the routes to all of them are the same.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/io/address.h"

namespace alm::meeting {

class RouteSearch {
 public:
  // `paths`: wanted to each host; 0: one for each route.
  explicit RouteSearch(std::uint32_t paths = 0) : paths_(paths) {}

  // A five-tuple to that host passes this router.
  void answered(std::size_t host, const io::Address& router);
  // Whether each route that any host has shown leads to that host often enough, and it is not
  // likely that there are more.
  bool has_enough(std::size_t host) const;

  // After so many answers that show `routes` routes there is another one with a probability of 5 %
  // at most, if a hash spreads five-tuples evenly (the stopping rule of multipath traceroute).
  static std::size_t answers_for(std::size_t routes);

 private:
  std::uint32_t paths_;
  std::size_t answers_ = 0;
  std::vector<io::Address> routers_;             // all that have answered
  std::vector<std::vector<std::uint32_t>> met_;  // [host][router] how many five-tuples
};

}  // namespace alm::meeting
