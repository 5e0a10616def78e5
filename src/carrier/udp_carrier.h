// The members of a communicator that exchange over UDP, once everybody has said hello: the plan for
// large blocks, and those that combine small ones in phases. Knows nothing of MPI calls and
// datatypes, nor of algorithms: execute::Execution carries the plans out.
//
// Each phase of a combining plan has a set of peers of its own, so that to the transport it is an
// exchange like any other, and one call's phase acknowledges the same phase of the call before.
//
// Where several leaders of a host share its messages, each has a carrier, whose members are the
// leaders of the same number on all hosts. Exchanges that are shared have a set of their own, in
// which a leader has its part of the window, so that the leaders of a host keep to the host's.
// Where all ranks are leaders they also exchange with each other without going through the memory
// of hosts: in a lane for every distance between the numbers of two leaders, a set each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execute/execution.h"
#include "plan/combining.h"
#include "plan/plan.h"
#include "transport/io/driver.h"

namespace alm::carrier {

class UdpCarrier {
 public:
  // What is called while an exchange waits.
  struct Hooks {
    io::Driver::Progress progress;
    io::Driver::Warn warn;
    // Changes what the transport is told in a phase, where phases differ; may be empty.
    std::function<void(const plan::Phase&, transport::Config&)> configure{};
  };

  // What `leaders` of a host share; sets[member]: the numbers reserved for it. `lanes`: their
  // peers, but for the configuration.
  struct Shared {
    std::uint32_t leaders = 1;
    std::vector<std::uint16_t> sets;
    std::vector<io::PeerSet> lanes;
  };
  // `peers` describes the members; the carrier registers it with the driver, which must live on
  // until close(). `plan` has one direct phase. phase_sets[i][phase][member]: the numbers reserved
  // for the phases of combining[i]. Where shared.sets is empty, all exchanges are shared.
  UdpCarrier(io::Driver& driver, io::PeerSet peers, plan::Plan plan,
             std::vector<plan::Plan> combining,
             std::span<const std::vector<std::vector<std::uint16_t>>> phase_sets, Shared shared,
             Hooks hooks);
  // Ends its traffic and gives its numbers back. Peers have everything they need.
  void close();

  std::uint32_t members() const { return members_; }
  std::uint32_t self() const { return self_; }
  const transport::Config& config() const { return config_; }
  const plan::Plan& plan() const { return plan_; }
  std::uint32_t packet_bytes() const;

  // Blocks of any size, by the plan for large ones, or in the rounds that the exchange names.
  base::Status run(const transport::Exchange& exchange, base::Nanos deadline = base::kNever);
  // The same, where the other leaders of the hosts exchange the rest.
  base::Status run_shared(const transport::Exchange& exchange);
  // One exchange in each lane, all at once.
  base::Status run_lanes(std::span<const transport::Exchange> exchanges);

  // As MPI_Allgather, for a few bytes.
  base::Status gather(std::span<const std::byte> mine, std::span<std::byte> all);

  // What the model takes for equal blocks of `bytes`; nothing: the plan for large ones.
  std::optional<std::size_t> choose_combining(std::uint64_t bytes) const;
  // By that plan. Blocks lie by member; self's own is left alone.
  base::Status run_combining(std::size_t index, const transport::ConstBlocks& send,
                             const transport::MutableBlocks& recv, const execute::Amounts& amounts);

  // By which blocks of any size go between sites, near and far ones in phases of their own; null:
  // there is no such plan. Equal on all members.
  const plan::Plan* site_plan() const { return site_plan_ ? &plans_[*site_plan_] : nullptr; }
  // By it, else as run(). `stepped`: the same plan with steps.
  base::Status run_blocks(const transport::Exchange& exchange,
                          execute::Execution* stepped = nullptr);

  // The members' calls on all their exchanges are numbered alike. In this one `elsewhere` bytes go
  // to each by other means, or it enters exchanges.
  void begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere);

  // For want of whom exchanges fail, or are going to: a number of the names given.
  std::optional<io::Driver::Loss> loss() const { return driver_.loss(sets_); }
  // An error found after the last exchange was complete.
  base::Status trouble();
  // On whatever set a peer waits for this member: it is to learn that it waits in vain.
  void share_failure();
  // It does not go on, for want of `lost`, a number of the names given.
  void give_up(const std::string& failure, std::uint32_t lost);

  transport::Counters counters() const;  // since it was made
  // "window 7 packets, grain 1, 1472-byte datagrams"
  std::string settings_text() const;

 private:
  base::Status run_on(std::uint16_t set, transport::Exchange exchange, base::Nanos deadline);

  io::Driver& driver_;
  std::uint32_t members_;
  std::uint32_t self_;
  std::uint16_t set_, shared_set_;
  std::vector<std::uint16_t> lanes_;
  std::vector<std::uint16_t> sets_;  // of all, its own first
  transport::Config config_;
  plan::Plan plan_;
  std::vector<plan::Plan> plans_;                            // that combine
  std::optional<std::size_t> site_plan_;                     // of them
  std::vector<execute::Execution> executions_;               // of them
  std::vector<std::unique_ptr<execute::Carrier>> carriers_;  // of their phases
  Hooks hooks_;
  std::vector<std::byte> gathered_;  // what gather() sends
};

}  // namespace alm::carrier
