// Several programs on the same hosts: jobs, each with its own ranks, and flows beside them. A
// host's link is offered to them in turn, as the kernel offers it to sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/bulk_flow.h"
#include "harness/program.h"
#include "sim/simulator.h"

namespace alm::harness {

class Neighbours final : public sim::Program {
 public:
  // Both must outlive this. `flows` may be null.
  Neighbours(const std::vector<std::unique_ptr<harness::Program>>& jobs, BulkFlows* flows);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t host, sim::Picos now) override;
  sim::Picos deadline(std::uint32_t host) const override;
  // All jobs have done their exchanges, or one has failed.
  bool done() const override;

 private:
  const std::vector<std::unique_ptr<harness::Program>>& jobs_;
  std::vector<sim::Program*> programs_;
  std::vector<std::uint32_t> owner_;  // in programs_, by packet index
  std::vector<std::size_t> turn_;     // by host
};

}  // namespace alm::harness
