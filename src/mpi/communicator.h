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
#include <tuple>

#include "carrier/message_group.h"
#include "carrier/node_exchange.h"
#include "carrier/udp_group.h"
#include "carrier/uneven_steps.h"
#include "mpi/agreed_load.h"
#include "mpi/block_staging.h"
#include "mpi/job.h"
#include "mpi/membership.h"
#include "mpi/settings.h"
#include "mpi/staging.h"
#include "mpi/worker.h"
#include "plan/placement.h"
#include "tuning/trial.h"
#include "tuning/ways.h"

namespace alm::mpi {

struct AlltoallCall {
  const char* name = "MPI_Alltoall";  // of the MPI function
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

  // One whose calls all go to the MPI library, for this reason.
  static std::unique_ptr<Communicator> pass_through(Job& job, CommHandle comm, std::uint32_t ranks,
                                                    std::uint32_t self, std::string reason);

  // The MPI error code; nothing: pass the call through.
  std::optional<int> alltoall(const AlltoallCall& call);
  // communicator_v.cc
  std::optional<int> alltoall_blocks(const BlockCall& call);

  // communicator_nonblocking.cc. The same, begun; `request` completes when it is over. The data
  // the calls refer to stays until then, datatypes need not.
  std::optional<int> start(const AlltoallCall& call, RequestHandle& request);
  std::optional<int> start_blocks(const BlockCall& call, RequestHandle& request);
  // Waits for what has been started.
  void settle();
  bool idle() const { return !worker_ || worker_->idle(); }

  // Called from inside MPI when the communicator is freed; only marks.
  void mark_dead() { dead_->store(true); }
  bool dead() const { return dead_->load(); }
  // An error found after the last call was complete goes through the error handler now.
  void raise_late_failure();
  // A communicator that has failed does: it raises its error.
  bool accelerates() const { return mode_ != Mode::kPassThrough && mode_ != Mode::kClosed; }
  bool failed() const { return mode_ == Mode::kFailed; }
  base::ErrorCode failure_code() const { return failure_.code; }  // when failed()
  // What is in the way of UDP, equal on all ranks; empty: nothing.
  const std::string& obstacle() const { return obstacle_; }
  // Over UDP, until close().
  transport::Counters traffic() const {
    return group_ ? group_->counters() : transport::Counters{};
  }

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
  std::unique_ptr<carrier::UdpGroup> make_group(io::Driver& driver,
                                                std::span<const PeerRecord> leaders,
                                                std::uint32_t datagram_bytes) const;
  std::string open_messages();
  void watch_counts();
  // communicator_node.cc
  std::unique_ptr<node::NodeMemory> lend_memory(PeerRecord& mine) const;
  std::string attach(std::unique_ptr<node::NodeMemory>& memory);
  void join_node(std::unique_ptr<node::NodeMemory> memory);
  void share_failure();

  std::string host_of_rank(std::uint32_t rank) const;
  std::string name_of_rank(std::uint32_t rank) const;  // with its host
  std::string host_text(std::uint32_t host) const;
  std::vector<std::string> rank_names() const;
  void announce(std::uint64_t bytes);
  void announce_blocks(const char* function);
  // communicator_trial.cc
  bool on_trial() const;
  struct Tried {
    std::uint64_t bytes = 0;  // of the first call
    bool any_size = false;    // blocks of any size; `bytes` is what the fullest rank carries
    std::vector<tuning::Way> ways;
    tuning::Trial trial;
    std::uint32_t told_reopened = 0;
    std::optional<std::size_t> told_way;
    std::optional<tuning::Decision> kept;  // before the trial was last reopened
  };
  int try_out(const AlltoallCall& call);
  void begin_call();
  void note_way(std::optional<std::uint64_t> elsewhere);
  Tried& tried(std::uint64_t bytes);
  base::Nanos least_time(std::uint64_t bytes, topology::Packing packing) const;
  bool prepare_messages();
  void note_time(Tried& tried, base::Nanos time);
  bool agree(tuning::Trial& trial);
  void tell(Tried& tried) const;
  // communicator_decisions.cc
  tuning::Decision subject(const Tried& tried) const;
  void adopt(Tried& tried);
  static std::string reason(const Tried& tried);
  std::string subject_text(const Tried& tried) const;
  void record(const Tried& tried);
  std::optional<tuning::Decision> latest(const Tried& tried) const;
  void record_decisions();

  int accelerate(const AlltoallCall& call, tuning::Way way);
  bool has_phases(std::uint64_t bytes) const;
  std::optional<std::size_t> choose_phased(std::uint64_t bytes) const;
  std::uint64_t host_block(std::uint64_t bytes) const;
  tuning::Way model_way(std::uint64_t bytes) const;
  std::string size_class_text(std::uint64_t bytes) const;
  std::string way_name(tuning::Way way) const;  // "grid 8 x 4 over UDP"
  std::string way_text(tuning::Way way) const;  // and with what settings
  base::Status exchange(const Staging& staged, std::uint64_t bytes,
                        tuning::Way way);  // of one size
  base::Status take(tuning::Way way, const Staging& staged, std::uint64_t bytes);
  int accelerate_blocks(const BlockCall& call);
  base::Status exchange_blocks(const BlockStaging& staged);  // of any sizes
  base::Status send_blocks(const BlockStaging& staged);      // counts are known
  // communicator_block_trial.cc
  bool blocks_on_trial() const;
  bool counts_tell() const;
  int try_out_blocks(const BlockCall& call);
  base::Status prepare_blocks(const BlockCall& call);
  Tried& tried_blocks();
  base::Status run(transport::Exchange exchange);
  base::Status over_messages(const std::function<base::Status()>& send);
  transport::Counters count();
  int fail(const char* function, const base::Error& error);
  int withdraw(const char* function, const base::Error& error);
  void tell_others(const base::Error& error);
  const base::Error& tell_and_give_up(const char* function, const base::Error& error);
  int or_withdraw(const char* function, const std::function<int()>& work);
  int raise_failure();
  const base::Error& give_up(const char* function, const base::Error& error);
  void release();
  base::Status begin(Staging& staging, const AlltoallCall& call) const;
  static base::Status packed(int code);
  base::Status compare_sizes(const BlockStaging& staged);  // communicator_v.cc
  // communicator_nonblocking.cc
  std::optional<tuning::Way> decided_way(std::uint64_t bytes) const;
  int queue(const AlltoallCall& call, tuning::Way way, RequestHandle& request);
  int queue(const BlockCall& call, RequestHandle& request);
  template <class Queued, class Run>
  int enqueue(std::shared_ptr<Queued> queued, Run run, RequestHandle& request);

  Job& job_;
  CommHandle comm_;
  std::uint32_t ranks_;
  std::uint32_t self_;
  std::atomic<Mode> mode_{Mode::kPassThrough};  // the worker may find that it has failed
  bool over_mpi_ = false;                       // MPI messages, not UDP
  std::shared_ptr<std::atomic<bool>> dead_ = std::make_shared<std::atomic<bool>>(false);

  std::vector<PeerRecord> records_;
  plan::Placement placement_;
  std::uint32_t host_ = 0;  // in the placement
  std::optional<plan::Tuning> tuning_;
  std::vector<base::HostId> hosts_;              // [host] in the cluster file; empty without one
  Groups groups_;                                // of the hosts
  plan::Plan rounds_;                            // of hosts, over UDP
  std::vector<plan::Plan> phased_;               // of hosts, where all have as many ranks
  std::uint32_t packet_bytes_ = 0;               // of blocks, over UDP
  std::unique_ptr<carrier::UdpGroup> group_;     // of hosts; the leader's
  std::unique_ptr<carrier::Counts> counts_;      // of hosts, where steps can be made of them
  std::unique_ptr<carrier::NodeExchange> node_;  // where hosts have several ranks
  transport::Counters counted_;                  // of the group, already in the statistics
  std::uint64_t calls_ = 0;                      // begun; equal on all ranks
  std::unique_ptr<carrier::MessageGroup> messages_;
  bool messages_prepared_ = false;
  Staging staging_;
  BlockStaging blocks_;
  std::shared_ptr<const void> queued_;  // what the worker carries out
  bool blocks_announced_ = false;
  std::set<std::tuple<int, tuning::Way::Kind, std::uint32_t>> announced_;  // size class, which way
  std::map<std::tuple<int, tuning::Way::Kind, std::uint32_t>, Tried> tried_;  // the model's way
  AgreedLoad load_;                    // of blocks of any size, where counts_ do not tell it
  std::uint64_t limit_load_ = 0;       // of the exchange by which leaders know the links' limit
  std::map<int, Tried> tried_blocks_;  // by size class of what the fullest member carries
  base::Error failure_;                // these are set before mode_ tells of them
  std::string obstacle_;
  // The worker may release everything while the program begins another exchange.
  std::mutex release_mutex_;
  std::unique_ptr<Worker> worker_;  // last: its tasks use all of the above
};

}  // namespace alm::mpi
