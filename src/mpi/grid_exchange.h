// Runs the exchange in phases of plan/grid.h over UDP. Each phase has a set of peers of its own, a
// line of the grid, so that to the transport it is a complete exchange like any other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpi/settings.h"
#include "mpi/staging.h"
#include "plan/grid.h"
#include "transport/io/driver.h"

namespace alm::mpi {

class GridExchange {
 public:
  // `all` describes the whole communicator. sets[d][rank]: the number rank has reserved for its
  // line along dimension d. The sets are registered with the driver, which must live on until
  // close().
  GridExchange(plan::Grid grid, io::Driver& driver, const io::PeerSet& all,
               std::span<const std::vector<std::uint16_t>> sets);
  void close();

  const plan::Grid& grid() const { return grid_; }
  transport::Counters counters() const;
  std::vector<std::uint16_t> sets() const;

  // `send` and `recv` hold one block of `bytes` per rank.
  base::Status run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                   const io::Driver::Progress& progress, const io::Driver::Warn& warn);

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
  ByteStore blocks_store_, send_store_, recv_store_;
};

}  // namespace alm::mpi
