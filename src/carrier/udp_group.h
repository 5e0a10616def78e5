// The members of a communicator that exchange over UDP, once everybody has said hello: sockets,
// rounds, and phases for small blocks. Knows nothing of MPI calls and datatypes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carrier/phased_exchange.h"
#include "carrier/plan_rounds.h"
#include "plan/phased.h"
#include "transport/io/driver.h"

namespace alm::carrier {

class UdpGroup {
 public:
  // What is called while an exchange waits.
  struct Hooks {
    io::Driver::Progress progress;
    io::Driver::Warn warn;
  };

  // `peers` describes the members; the group registers it with the driver, which must live on until
  // close(). phase_sets[i][phase][member]: the numbers reserved for the phases of phased[i].
  UdpGroup(io::Driver& driver, io::PeerSet peers, PlanRounds rounds,
           std::vector<plan::Phased> phased,
           std::span<const std::vector<std::vector<std::uint16_t>>> phase_sets, Hooks hooks);
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
  std::span<const plan::Phased> phased() const { return plans_; }
  // What the model takes for blocks of `bytes`; nothing: the direct exchange.
  std::optional<std::size_t> choose_phased(std::uint64_t bytes) const;
  base::Status run_phased(std::size_t index, const std::byte* send, std::byte* recv,
                          std::uint64_t bytes);

  // The members' calls on all their exchanges are numbered alike. In this one `elsewhere` bytes go
  // to each by other means, or it enters exchanges.
  void begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere);

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
  io::Driver& driver_;
  std::uint32_t members_;
  std::uint32_t self_;
  std::uint16_t set_;
  std::vector<std::uint16_t> sets_;  // of all, its own first
  transport::Config config_;
  PlanRounds rounds_;
  std::vector<plan::Phased> plans_;
  std::vector<std::unique_ptr<PhasedExchange>> phased_;  // in the same order
  Hooks hooks_;
  std::vector<std::byte> gathered_;  // what gather() sends
};

}  // namespace alm::carrier
