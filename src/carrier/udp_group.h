// The members of a communicator that exchange over UDP, with a plan for large blocks and plans that
// combine small ones in phases. It knows no MPI calls, datatypes or algorithms: execute::Execution
// carries out its plans.
//
// Each phase of a combining plan has a set of peers of its own. So the transport takes it for an
// exchange like any other, and a call's phase acknowledges the same phase of the call before.
//
// Where several leaders of a host share its messages, each has a group, whose members are the
// leaders of the same number on all hosts. Shared exchanges have a set of their own, in which each
// leader has its part of the window, so that together they keep to the window of the host. Where
// all ranks are leaders, they also exchange with each other without the memory of hosts: in one
// lane, with a set of its own, for every distance between the numbers of two leaders.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carrier/partner_tree.h"
#include "execute/execution.h"
#include "plan/combining.h"
#include "plan/plan.h"
#include "transport/io/driver.h"

namespace alm::carrier {

class UdpGroup {
 public:
  // Called while an exchange waits.
  struct Hooks {
    io::Driver::Progress progress;
    io::Driver::Warn warn;
    // Changes the configuration of the transport for a phase; may be empty.
    std::function<void(const plan::Phase&, transport::Config&)> configure{};
  };

  // For exchanges that `leaders` of a host share. sets[member]: the set number reserved by each
  // member. `lanes`: the peers of each lane, without their configuration.
  struct Shared {
    std::uint32_t leaders = 1;
    std::vector<std::uint16_t> sets;
    std::vector<io::PeerSet> lanes;
  };
  // `peers` describes the members; the group registers it with the driver, which must live until
  // close(). `plan` has one direct phase. phase_sets[i][phase][member]: the set numbers reserved
  // for the phases of combining[i]. Where shared.sets is empty, all exchanges are shared.
  UdpGroup(io::Driver& driver, io::PeerSet peers, plan::Plan plan,
           std::vector<plan::Plan> combining,
           std::span<const std::vector<std::vector<std::uint16_t>>> phase_sets, Shared shared,
           Hooks hooks);
  // Ends the traffic and gives the set numbers back. Precondition: peers need nothing any more.
  void close();

  std::uint32_t members() const { return members_; }
  std::uint32_t self() const { return self_; }
  const transport::Config& config() const { return config_; }
  const plan::Plan& plan() const { return plan_; }
  std::uint32_t packet_bytes() const;

  // Exchanges blocks of any size by the plan for large ones, or in the rounds that `exchange`
  // names.
  base::Status run(const transport::Exchange& exchange, base::Nanos deadline = base::kNever);
  // The same for this leader's slices; the other leaders of the hosts exchange the rest.
  base::Status run_shared(const transport::Exchange& exchange);
  // Sends every member `times` as many packets as a block of `bytes` takes, all at once and with
  // nothing in them, and returns after `time`.
  void fill(std::uint32_t times, std::uint64_t bytes, base::Nanos time);
  // Runs one exchange in each lane, all at once.
  base::Status run_lanes(std::span<const transport::Exchange> exchanges);

  // An MPI_Allgather of a few bytes.
  base::Status gather(std::span<const std::byte> mine, std::span<std::byte> all);

  // Makes each word the largest that any member has given, along the tree: each member sends to its
  // parent when its children have told it, and to them when the parent has. Same tree on all.
  base::Status reduce_max(const PartnerTree& tree, std::span<std::uint64_t> words);

  // The combining plan that the model takes for equal blocks of `bytes`; nothing: the plan for
  // large ones.
  std::optional<std::size_t> choose_combining(std::uint64_t bytes) const;
  // Exchanges by combining plan `index`. Blocks lie by member; self's own is left alone.
  base::Status run_combining(std::size_t index, const transport::ConstBlocks& send,
                             const transport::MutableBlocks& recv, const execute::Amounts& amounts);

  // The plan for blocks of any size where hosts are at several sites, with near and far phases;
  // null: there is no such plan. Equal on all members.
  const plan::Plan* site_plan() const { return site_plan_ ? &plans_[*site_plan_] : nullptr; }
  // Exchanges by the site plan if there is one, else as run(). `stepped`: the site plan with steps.
  base::Status run_blocks(const transport::Exchange& exchange,
                          execute::Execution* stepped = nullptr);

  // Call `call` begins; all members number their calls alike. In it this member enters exchanges
  // here or, with `elsewhere`, sends so many bytes to each member by other means.
  void begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere);

  // The peer that is lost, by its number among PeerSet::names, and the error with which exchanges
  // fail because of it.
  std::optional<io::Driver::Loss> loss() const { return driver_.loss(sets_); }
  // The error found after the last exchange was complete, if any.
  base::Status trouble();
  // Tells the peers that wait for this member on any set that they wait in vain.
  void share_failure();
  // This member does not go on, because peer `lost` (a number as in PeerSet::names) is lost.
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
  std::vector<std::uint16_t> sets_;  // all set numbers, set_ first
  transport::Config config_;
  plan::Plan plan_;
  std::vector<plan::Plan> plans_;                            // those that combine
  std::optional<std::size_t> site_plan_;                     // index into plans_
  std::vector<execute::Execution> executions_;               // of plans_
  std::vector<std::unique_ptr<execute::Carrier>> carriers_;  // of plans_, for their phases
  Hooks hooks_;
  std::vector<std::byte> gathered_;  // what gather() sends
};

}  // namespace alm::carrier
