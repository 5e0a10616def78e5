// Max-min fair rates of fluid flows, by progressive filling.
//
// A class is a number of flows that use the same resources (directed links, caps on both directions
// together, backplanes) and therefore get the same rate. All rates rise together; the resource that
// is full first stops its flows, the others rise on. In the result every flow has a full resource
// on which no flow has a higher rate: that is max-min fairness.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::sim {

struct FlowClasses {
  std::vector<std::uint32_t> uses;   // resources, class after class; no resource twice in a class
  std::vector<std::uint32_t> begin;  // class i: uses[begin[i] .. begin[i+1])
  std::vector<std::uint32_t> flows;  // how many flows class i stands for

  std::size_t size() const { return flows.size(); }
  std::span<const std::uint32_t> of(std::size_t i) const {
    return std::span(uses).subspan(begin[i], begin[i + 1] - begin[i]);
  }
  void clear();
  void add(std::span<const std::uint32_t> resources, std::uint32_t count);
};

class FairShares {
 public:
  // `capacity`: units per second by resource, all above zero.
  explicit FairShares(std::vector<double> capacity);

  // Computes the rate of one flow of each class. Precondition: every class has resources, or
  // nothing would bound its rate.
  void fill(const FlowClasses& classes, std::vector<double>& rate);

 private:
  struct Level {
    double rate = 0;
    std::uint32_t resource = 0;
  };

  void count_uses(const FlowClasses& classes);
  double level(std::uint32_t resource) const;

  std::vector<double> capacity_;
  // By resource; those not in use stay zero between calls.
  std::vector<double> taken_;                 // capacity used by flows whose rate is settled
  std::vector<std::uint32_t> rising_;         // flows still rising
  std::vector<std::uint32_t> first_, users_;  // classes of a resource: users_[first_[r] ..)
  std::vector<std::uint32_t> touched_;
  std::vector<Level> heap_;
};

}  // namespace alm::sim
