// Runs the exchange in phases of plan/bruck.h, both ways, over UDP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "carrier/bruck_blocks.h"
#include "carrier/phased_exchange.h"

namespace alm::carrier {

class BruckExchange final : public PhasedExchange {
 public:
  // `all` describes the whole communicator. sets[phase][rank]: the number rank has reserved for the
  // phase. The sets are registered with the driver.
  BruckExchange(plan::Bruck bruck, io::Driver& driver, const io::PeerSet& all,
                std::span<const std::vector<std::uint16_t>> sets);

  base::Status run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                   const io::Driver::Progress& progress, const io::Driver::Warn& warn) override;
  std::vector<std::uint16_t> sets() const override { return sets_; }

 private:
  BruckBlocks blocks_;
  io::Driver& driver_;
  std::vector<std::uint16_t> sets_;  // by phase
};

}  // namespace alm::carrier
