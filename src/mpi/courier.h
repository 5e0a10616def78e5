// Carries out the exchanges of a communicator by the way it is told: over UDP, through the memory
// of a host with several ranks, or by MPI messages. The one place that knows the carriers.
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

#include "carrier/message_carrier.h"
#include "carrier/node_exchange.h"
#include "carrier/udp_carrier.h"
#include "carrier/uneven_steps.h"
#include "mpi/block_staging.h"
#include "mpi/job.h"
#include "mpi/members.h"
#include "mpi/repertoire.h"
#include "mpi/staging.h"
#include "tuning/candidates.h"

namespace alm::mpi {

class Courier {
 public:
  Courier(Job& job, CommHandle comm, const Members& members, const Repertoire& ways)
      : job_(job), comm_(comm), members_(members), ways_(ways) {}

  // --- Made ready (bring_up.cc)
  // On leaders. `phase_sets`: for each phase of each plan, the numbers by host; of host leaders.
  void open_carrier(io::Driver& driver, io::PeerSet peers,
                    std::span<const std::vector<std::uint16_t>> phase_sets,
                    carrier::UdpCarrier::Shared shared);
  void close_carrier();
  // One full packet between every two hosts: what came of it, as hello_exchange.h tells.
  std::uint64_t say_hello();
  // Returns when all members have left the agreement on what hello said. Its last messages may be
  // under way until then, and blocks that fill the queues would cost them a time-out of TCP.
  void begin_together();
  // The group stays: exchanges are counted from here on. `memory` where hosts have several ranks.
  void take_udp(std::unique_ptr<node::NodeMemory> memory);
  // Blocks of more go through the memory of a host in pieces.
  std::uint64_t phases_bytes_max() const;
  // Collective over the communicator, which may fail on some ranks only.
  base::Status open_messages();
  void drop_messages() { messages_.reset(); }
  bool has_messages() const { return messages_ != nullptr; }
  bool has_udp() const { return udp_; }

  // --- In every call
  // All collective calls are counted, in the order of the program. `function` stays.
  void begin_call(const char* function);
  // A rank that waits for this one over UDP in this call is to learn that it is not coming: it
  // sends so many bytes to each by other means.
  void goes_elsewhere(std::uint64_t bytes);
  // What the next exchange is staged in: it stays as long as the carrier may use it.
  void uses(std::shared_ptr<const void> memory) { memory_ = std::move(memory); }
  base::Status alltoall(tuning::Way way, const Staging& staged, std::uint64_t bytes);
  // `counts_told`: by tell_counts, in this call.
  base::Status alltoall_blocks(tuning::Way way, const BlockStaging& staged, bool counts_told);

  // Whether all ranks learn what the fullest of them carries over UDP.
  bool tells_counts() const { return udp_ && uneven_steps_ && !host_; }
  base::Status tell_counts(std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv,
                           const std::function<bool(std::uint64_t load)>& wants_steps);
  std::uint64_t told_load() const { return uneven_steps_->load(); }
  // What the links need for the last exchange whose counts this rank knows; 0: it knows none.
  base::Nanos least_time() const { return uneven_steps_ ? uneven_steps_->least_time() : 0; }

  // --- When something has failed
  // Whoever waits for this rank, which cannot go on, fails with this error.
  void tell_others(const base::Error& error);
  // The same after a failure that the transport has found, for those who have not.
  void share_failure();
  // Found after the last exchange was complete.
  base::Status late_failure();

  // Ends the traffic and gives back the memory. Peers have everything they need. Any thread.
  void close();
  transport::Counters traffic() const;  // over UDP, until close()
  std::string settings_text() const;    // "window 7 packets, ..."; on the leaders of hosts

 private:
  std::function<void(const plan::Phase&, transport::Config&)> phase_configuration(
      const io::Driver& driver) const;
  base::Status take(tuning::Way way, const Staging& staged, std::uint64_t bytes);
  base::Status send_blocks(tuning::Way way, const BlockStaging& staged);
  plan::Plan plan_with_paths() const;
  bool assigns_by_ways() const;
  void make_steps();
  void end_with_host();
  base::Status in_rounds(transport::Exchange exchange);
  io::MessageFlow message_flow() const;
  io::MessageFlow far_message_flow(const plan::Phase& phase) const;
  base::Nanos far_round_trip() const;
  base::Status by_messages(const std::function<base::Status()>& send);
  transport::Counters count();
  void note(std::optional<std::uint64_t> elsewhere);

  Job& job_;
  CommHandle comm_;
  const Members& members_;
  const Repertoire& ways_;

  bool udp_ = false;
  mutable std::mutex mutex_;  // a thread may close while the program begins another call
  std::unique_ptr<carrier::UdpCarrier> carrier_;        // of hosts; a leader's
  std::unique_ptr<carrier::UnevenSteps> uneven_steps_;  // of hosts, where they are of use
  std::unique_ptr<carrier::UnevenSteps> slice_steps_;   // the same of what leaders share
  std::unique_ptr<carrier::NodeExchange> host_;         // where hosts have several ranks
  std::unique_ptr<carrier::MessageCarrier> messages_;
  std::shared_ptr<const void> memory_;                  // of the running exchange
  transport::Counters counted_;                         // of the carrier, already in the statistics
  std::uint64_t calls_ = 0;                             // begun; equal on all ranks
  std::atomic<const char*> function_ = "MPI_Alltoall";  // of the latest call
};

}  // namespace alm::mpi
