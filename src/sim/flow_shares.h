// Max-min fair rates of fluid flows, by progressive filling.
//
// A class is a number of flows that use the same resources (directed links, caps on both directions
// together, backplanes) and therefore get the same rate. All rates rise together; the resource that
// is full first stops its flows there, the others rise on. In the result every flow has a resource
// that is full and on which no flow has a higher rate: that is what max-min fair means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::sim {

struct FlowClasses {
  std::vector<std::uint32_t> uses;   // resources, class after class; none twice within a class
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
  // Units per second by resource, all above zero.
  explicit FairShares(std::vector<double> capacity);

  // Rate of one flow of each class. A class without resources is refused by assertion: nothing
  // would bound it.
  void fill(const FlowClasses& classes, std::vector<double>& rate);

 private:
  struct Level {
    double rate = 0;
    std::uint32_t resource = 0;
  };

  void count_uses(const FlowClasses& classes);
  double level(std::uint32_t resource) const;

  std::vector<double> capacity_;
  // Of the resources in use; the rest stays zero between calls.
  std::vector<double> taken_;                 // by flows whose rate is settled
  std::vector<std::uint32_t> rising_;         // flows still rising
  std::vector<std::uint32_t> first_, users_;  // classes of a resource: users_[first_[r] ..)
  std::vector<std::uint32_t> touched_;
  std::vector<Level> heap_;
};

}  // namespace alm::sim
