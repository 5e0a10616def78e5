// Carries out each exchange of a communicator by a given way: over UDP, through the memory of a
// host with several ranks, or by MPI messages. Nothing else in this room knows all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carrier/message_group.h"
#include "carrier/node_exchange.h"
#include "carrier/udp_group.h"
#include "carrier/uneven_steps.h"
#include "courier/block_staging.h"
#include "courier/staging.h"
#include "job/job.h"
#include "meeting/members.h"
#include "tuning/candidates.h"
#include "ways/repertoire.h"

namespace alm::courier {

// What the ranks know of each other's counts before an exchange of blocks.
enum class Counts {
  kUntold,        // Courier tells them where that is due
  kTold,          // by tell_counts() in this call
  kOfNeighbours,  // none are told: packets go to neighbours alone. Over UDP only.
};

class Courier {
 public:
  Courier(job::Job& job, job::CommHandle comm, const meeting::Members& members,
          const ways::Repertoire& ways, std::shared_ptr<job::CommLife> life)
      : job_(job), comm_(comm), members_(members), ways_(ways), life_(std::move(life)) {}

  // --- For bringing up (communicator/bring_up.cc)
  // On leaders. `phase_sets`: for each phase of each plan, the set numbers of the host leaders by
  // host.
  void open_udp_group(io::Driver& driver, io::PeerSet peers,
                      std::span<const std::vector<std::uint16_t>> phase_sets,
                      carrier::UdpGroup::Shared shared);
  void close_udp_group();
  // Exchanges one full packet between every two hosts; returns the outcome
  // (meeting/hello_exchange.h).
  std::uint64_t say_hello();
  // Returns when all members have left the agreement on the outcome of hello. Until then its last
  // MPI messages may be under way, and blocks that fill the queues would cost them a time-out of
  // TCP.
  void begin_together();
  // UDP is used from here on, and exchanges are counted. `memory`: where hosts have several ranks.
  void take_udp(std::unique_ptr<node::NodeMemory> memory);
  // The largest blocks that combining plans take; larger ones go through the memory of a host in
  // pieces.
  std::uint64_t phases_bytes_max() const;
  // Collective over the communicator, with MPI alone. It may fail on some ranks only.
  base::Status open_messages();
  void drop_messages() { messages_.reset(); }
  bool has_messages() const { return messages_ != nullptr; }
  bool has_udp() const { return udp_; }

  // --- In every call
  // A call of this function begins; the text stays. Ranks number their calls in the order of the
  // program.
  void begin_call(const char* function);
  // This rank exchanges by other means in this call, `bytes` with each rank, or makes no further
  // call. Ranks that wait for it over UDP learn that it is not coming.
  void goes_elsewhere(std::optional<std::uint64_t> bytes);
  // Holds the staging memory of the next exchange for as long as MPI may use it.
  void uses(std::shared_ptr<const void> memory) { memory_ = std::move(memory); }
  // Host leaders make a burst (tuning/bursts.h) of as many packets as the blocks of `bytes` of
  // their ranks take, each on its own; `call`: what a call takes.
  void burst(std::uint64_t bytes, base::Nanos call);
  base::Status alltoall(tuning::Way way, const Staging& staged, std::uint64_t bytes);
  // `most`, of neighbours and equal on all ranks: no rank sends or receives more; 0: not known.
  base::Status alltoall_blocks(tuning::Way way, const BlockStaging& staged, Counts counts,
                               std::uint64_t most = 0);

  // Whether the ranks agree over UDP on what the fullest of them carries.
  bool tells_counts() const { return udp_ && uneven_steps_ && !host_; }
  base::Result<std::uint64_t> tell_counts(
      std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv,
      const std::function<bool(std::uint64_t load)>& wants_steps);
  // The least time the links allow for the last exchange whose counts this rank knows; 0: it knows
  // none.
  base::Nanos least_time() const { return uneven_steps_ ? uneven_steps_->least_time() : 0; }

  // --- When something has failed
  // This rank cannot go on: ranks that wait for it fail with this error.
  void tell_others(const base::Error& error);
  // Tells ranks that have not noticed it of a failure that the transport has found. Leaving
  // messages, which takes a while, ends exchanges over them in which others wait for this rank.
  void share_failure(bool leaves_messages);
  // An error where two ranks do not agree on a size, found in the last exchange or after it.
  base::Status sizes_fit();

  // Ends the traffic and frees the memory. Precondition: peers need nothing any more. Any thread.
  void close();
  transport::Counters traffic() const;  // over UDP, until close()
  std::string settings_text() const;    // "window 7 packets, ..."; on the leaders of hosts

 private:
  std::function<void(const plan::Phase&, transport::Config&)> phase_configuration(
      const io::Driver& driver) const;
  base::Status take(tuning::Way way, const Staging& staged, std::uint64_t bytes);
  base::Status send_blocks(tuning::Way way, const BlockStaging& staged, Counts counts,
                           std::uint64_t most);
  plan::Plan plan_with_paths() const;
  bool assigns_routes() const;
  void make_steps();
  void learn_of_deaths();
  void look_for_deaths(base::Nanos now);
  void end_with_host();
  bool revoked();
  void end_where_revoked();
  base::Status in_rounds(transport::Exchange exchange);
  base::Status by_messages(const std::function<base::Status()>& send);
  transport::Counters count();
  void note(std::optional<std::uint64_t> elsewhere);

  job::Job& job_;
  job::CommHandle comm_;
  const meeting::Members& members_;
  const ways::Repertoire& ways_;
  std::shared_ptr<job::CommLife> life_;

  bool udp_ = false;
  mutable std::mutex mutex_;  // a thread may close while the program begins another call
  std::unique_ptr<carrier::UdpGroup> udp_group_;        // null on ranks that do not lead
  std::unique_ptr<carrier::UnevenSteps> uneven_steps_;  // null where not useful
  std::unique_ptr<carrier::UnevenSteps> slice_steps_;   // the same for slices
  std::unique_ptr<carrier::NodeExchange> host_;         // null where every host has one rank
  std::unique_ptr<carrier::MessageGroup> messages_;
  std::shared_ptr<const void> memory_;      // of the running exchange
  base::Nanos next_look_ = 0;               // at what the library knows of deaths
  std::vector<std::uint32_t> world_ranks_;  // [rank]; empty: the library tells of no deaths
  std::optional<std::uint32_t> dead_;       // the rank that the library told of first
  base::Nanos death_seen_ = 0;              // when
  transport::Counters counted_;             // the part that is already in the statistics
  std::uint64_t calls_ = 0;                 // begun so far; equal on all ranks
  std::atomic<const char*> function_ = "MPI_Alltoall";  // of the latest call
};

}  // namespace alm::courier
