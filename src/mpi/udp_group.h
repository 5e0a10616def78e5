// The members of a communicator that exchange over UDP, once everybody has said hello: sockets,
// rounds, and the grids for small blocks. Knows nothing of MPI calls and datatypes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/grid_exchange.h"
#include "mpi/settings.h"
#include "transport/io/driver.h"

namespace alm::mpi {

class UdpGroup {
 public:
  // What is called while an exchange waits.
  struct Hooks {
    io::Driver::Progress progress;
    io::Driver::Warn warn;
  };

  // `peers` describes the members; the group registers it with the driver, which must live on until
  // close(). grid_sets[g][d][member]: the numbers reserved for the lines of the grids.
  UdpGroup(io::Driver& driver, io::PeerSet peers, PlanRounds rounds, std::vector<plan::Grid> grids,
           std::span<const std::vector<std::vector<std::uint16_t>>> grid_sets, Hooks hooks);
  // Ends its traffic and gives its numbers back. Peers have everything they need.
  void close();

  std::uint32_t members() const { return members_; }
  std::uint32_t self() const { return self_; }
  const transport::Config& config() const { return config_; }
  const PlanRounds& rounds() const { return rounds_; }
  std::uint32_t packet_bytes() const;

  // Blocks of any size, in the rounds of the group where the exchange names none.
  base::Status run(transport::Exchange exchange, base::Nanos deadline = base::kNever);

  // As MPI_Allgather, for a few bytes.
  base::Status gather(std::span<const std::byte> mine, std::span<std::byte> all);

  // One block of `bytes` per member, self's included in both.
  std::size_t grids() const { return grids_.size(); }
  const plan::Grid& grid(std::size_t index) const { return grids_[index]->grid(); }
  // What the model takes for blocks of `bytes`; nothing: the direct exchange.
  std::optional<std::size_t> choose_grid(std::uint64_t bytes) const;
  base::Status run_grid(std::size_t index, const std::byte* send, std::byte* recv,
                        std::uint64_t bytes);

  // An error found after the last exchange was complete.
  base::Status trouble() { return driver_.trouble(set_); }
  // On whatever set a peer waits for this member: it is to learn that it waits in vain.
  void share_failure();
  // It does not go on, for want of `lost`, a number of the names given.
  void give_up(const std::string& failure, std::uint32_t lost);

  transport::Counters counters() const;  // since it was made
  // "window 7 packets, grain 1, 1472-byte datagrams"
  std::string settings_text() const;

 private:
  std::vector<std::uint16_t> sets() const;

  io::Driver& driver_;
  std::uint32_t members_;
  std::uint32_t self_;
  std::uint16_t set_;
  transport::Config config_;
  PlanRounds rounds_;
  std::vector<plan::Grid> plans_;  // for the model; grids_ in the same order
  std::vector<std::unique_ptr<GridExchange>> grids_;
  Hooks hooks_;
  std::vector<std::byte> gathered_;  // what gather() sends
};

}  // namespace alm::mpi
