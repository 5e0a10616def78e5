// A program on the simulated hosts, driven by harness::simulate().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/simulator.h"
#include "transport/config.h"

namespace alm::harness {

struct SimResult;

class Program : public sim::Program {
 public:
  virtual double progress() const = 0;  // share of the data that has come, 0 to 1
  virtual void fill(SimResult& result) const = 0;
  virtual std::size_t bytes() const = 0;  // of memory
  // A rank has given up another as lost: the simulation ends.
  struct Failure {
    std::uint32_t rank = 0;
    transport::PeerFailure lost;
  };
  virtual std::optional<Failure> failure() const { return std::nullopt; }
};

}  // namespace alm::harness
