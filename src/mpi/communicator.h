// The state of one user communicator: what its ranks agreed on, and how its exchanges travel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "mpi/block_staging.h"
#include "mpi/counts.h"
#include "mpi/job.h"
#include "mpi/membership.h"
#include "mpi/node_exchange.h"
#include "mpi/placement.h"
#include "mpi/settings.h"
#include "mpi/staging.h"
#include "mpi/trial.h"
#include "mpi/udp_group.h"

namespace alm::mpi {

struct AlltoallCall {
  CommHandle comm = 0;
  bool in_place = false;
  TypedBuffer send;  // of no meaning when in place
  TypedBuffer recv;
  std::function<int()> native;  // the same call, by the MPI library; its error code

  // Per pair of ranks; MPI makes this equal on all of them.
  std::uint64_t bytes() const { return in_place ? recv.bytes() : send.bytes(); }
};

class Communicator {
 public:
  // Collective over `comm` (an intracommunicator of two or more ranks). Never fails: where
  // something is in the way, all ranks agree on MPI messages or on passing through, and rank 0 says
  // why.
  static std::unique_ptr<Communicator> create(Job& job, CommHandle comm, std::uint32_t ranks,
                                              std::uint32_t self);

  // The MPI error code; nothing: pass the call through.
  std::optional<int> alltoall(const AlltoallCall& call);
  // communicator_v.cc
  std::optional<int> alltoall_blocks(const BlockCall& call);

  // Called from inside MPI when the communicator is freed; only marks.
  void mark_dead() { dead_.store(true); }
  bool dead() const { return dead_.load(); }
  // An error found after the last call was complete goes through the error handler now.
  void raise_late_failure();
  bool failed() const { return mode_ == Mode::kFailed; }

  // Ends its traffic and gives back its memory. Peers have everything they need.
  void close();

 private:
  enum class Mode { kPassThrough, kUdp, kMessages, kFailed, kClosed };

  Communicator(Job& job, CommHandle comm, std::uint32_t ranks, std::uint32_t self);

  // bring_up.cc. Each returns the reason why it cannot be, equal on all ranks; empty: done.
  std::string join();      // who is where; the plan
  std::string open_udp();  // sockets, keys, hello
  io::Driver* open_driver(PeerRecord& mine);
  std::string try_hello(io::Driver* driver, std::span<const PeerRecord> leaders,
                        std::uint32_t datagram_bytes);
  std::uint64_t say_hello();
  bool reserve(io::Driver& driver, PeerRecord& mine) const;  // false: no numbers left
  void give_back(io::Driver& driver, const PeerRecord& mine) const;
  std::unique_ptr<UdpGroup> make_group(io::Driver& driver, std::span<const PeerRecord> leaders,
                                       std::uint32_t datagram_bytes) const;
  std::string open_messages();
  void watch_counts();
  // communicator_node.cc
  std::unique_ptr<NodeMemory> lend_memory(PeerRecord& mine) const;
  std::string attach(std::unique_ptr<NodeMemory>& memory);
  void join_node(std::unique_ptr<NodeMemory> memory);
  void share_failure();

  std::string host_of_rank(std::uint32_t rank) const;
  std::string host_text(std::uint32_t host) const;
  std::vector<std::string> rank_names() const;
  void announce(std::uint64_t bytes);
  void announce_blocks(const char* function);
  // communicator_trial.cc
  bool on_trial() const;
  int try_out(const AlltoallCall& call);
  void agree(Trial& trial, std::uint64_t bytes);
  std::string size_class_text(std::uint64_t bytes) const;

  int accelerate(const AlltoallCall& call);
  // Nothing: the direct exchange.
  std::optional<std::size_t> grid_for(std::uint64_t bytes) const;
  std::string way_text(std::optional<std::size_t> grid) const;
  base::Status exchange(std::uint64_t bytes);  // blocks of one size, as staged
  base::Status exchange_blocks();              // of any sizes, as staged
  base::Status run(const transport::Exchange& exchange);
  base::Status over_messages(transport::Exchange exchange);
  transport::Counters count();
  int fail(const char* function, const std::string& message);
  base::Status compare_sizes();  // communicator_v.cc

  Job& job_;
  CommHandle comm_;
  std::uint32_t ranks_;
  std::uint32_t self_;
  Mode mode_ = Mode::kPassThrough;
  std::atomic<bool> dead_{false};

  std::vector<PeerRecord> records_;
  Placement placement_;
  std::uint32_t host_ = 0;  // in the placement
  std::optional<plan::Tuning> tuning_;
  std::vector<base::HostId> hosts_;     // [host] in the cluster file; empty without one
  Groups groups_;                       // of the hosts
  PlanRounds rounds_;                   // of hosts, over UDP; of ranks, over messages
  std::vector<plan::Grid> grids_;       // of hosts
  std::unique_ptr<UdpGroup> group_;     // of hosts; the leader's
  std::unique_ptr<Counts> counts_;      // of hosts, where steps can be made of them
  std::unique_ptr<NodeExchange> node_;  // where hosts have several ranks
  transport::Counters counted_;         // of the group, already in the statistics
  std::unique_ptr<PointToPoint> messages_;
  Staging staging_;
  BlockStaging blocks_;
  bool blocks_announced_ = false;
  std::set<std::pair<int, std::optional<std::size_t>>> announced_;  // size class, by which grid
  std::map<int, Trial> trials_;                                     // by size class
  std::string failure_;
};

}  // namespace alm::mpi
