// Runs the two-phase exchange of plan/grid.h over UDP. Each phase has a set of peers of its own, a
// row or a column, so that to the transport it is a complete exchange like any other.
#pragma once

#include <array>
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
  static constexpr std::size_t kPhases = 2;
  using Sets = std::array<std::uint16_t, kPhases>;

  // `all` describes the whole communicator; `sets` are the numbers each rank has reserved for its
  // row and its column, [rank]. The sets are registered with the driver, which must live on until
  // close().
  GridExchange(plan::Grid grid, io::Driver& driver, const io::PeerSet& all,
               std::span<const Sets> sets);
  void close();
  Sets sets() const { return {row_.set, column_.set}; }

  const plan::Grid& grid() const { return grid_; }
  transport::Counters counters() const;

  // `send` and `recv` hold one block of `bytes` per rank.
  base::Status run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                   const io::Driver::Progress& progress, const io::Driver::Warn& warn);

 private:
  struct Phase {
    std::uint16_t set = 0;
    std::uint32_t place = 0;  // of self among the members
    PlanRounds rounds;
  };

  Phase open(std::span<const base::Rank> members, std::uint32_t place, std::size_t phase,
             const io::PeerSet& all, std::span<const Sets> sets);
  base::Status run_phase(const Phase& phase, const std::byte* send, std::byte* recv,
                         std::uint64_t bytes, const io::Driver::Progress& progress,
                         const io::Driver::Warn& warn);

  plan::Grid grid_;
  io::Driver& driver_;
  Phase row_, column_;
  ByteStore send_store_, recv_store_;
};

}  // namespace alm::mpi
