// Runs the exchange in phases of plan/grid.h over UDP. The peers of a phase are a line of the grid,
// all of which exchange with each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_store.h"
#include "carrier/phased_exchange.h"
#include "carrier/plan_rounds.h"
#include "plan/grid.h"
#include "transport/io/driver.h"

namespace alm::carrier {

class GridExchange final : public PhasedExchange {
 public:
  // `all` describes the whole communicator. sets[d][rank]: the number rank has reserved for its
  // line along dimension d. The sets are registered with the driver.
  GridExchange(plan::Grid grid, io::Driver& driver, const io::PeerSet& all,
               std::span<const std::vector<std::uint16_t>> sets);

  base::Status run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                   const io::Driver::Progress& progress, const io::Driver::Warn& warn) override;
  std::vector<std::uint16_t> sets() const override;

 private:
  struct Phase {
    std::uint16_t set = 0;
    std::uint32_t place = 0;  // of self in the line
    PlanRounds rounds;
    // [index] where the block lies in what the phase exchanges: one message per coordinate
    std::vector<std::uint32_t> slots;
  };

  Phase open(std::size_t dimension, const io::PeerSet& all, std::span<const std::uint16_t> sets);
  std::uint32_t slot(std::uint32_t index, std::size_t dimension) const;

  plan::Grid grid_;
  io::Driver& driver_;
  std::vector<Phase> phases_;  // by dimension
  base::ByteStore blocks_store_, send_store_, recv_store_;
};

}  // namespace alm::carrier
