// The ranks of a communicator on one host, and how they wait for each other. Their exchanges go in
// turns, numbered from 0 over the life of the communicator:
//
//   post     a rank has put what it sends into the shared memory
//   deliver  the leaders of the call have exchanged it with the other hosts
//   take     a rank has copied what is for it
//
// Even and odd turns have buffers of their own: a rank may post turn n once all have taken n - 2.
// Waiting ranks yield the processor a few times, as long as that brings news, then sleep and let
// MPI proceed every millisecond. Every tenth of a second they check that the ranks they wait for
// are alive, and in the same kind of exchange in this call. A failure that one rank finds ends the
// waiting of all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/looks.h"
#include "base/result.h"
#include "base/time.h"
#include "node/node_memory.h"
#include "transport/io/driver.h"

namespace alm::node {

// The call that a rank is in: equal on all ranks in a correct program.
struct NodeCall {
  enum Kind : std::uint64_t { kNone, kAlltoall, kBlocks };
  Kind kind = kNone;
  std::uint64_t bytes = 0;  // per pair; kAlltoall
  // The first so many ranks of the host lead: each exchanges a part.
  std::uint32_t leaders = 1;
};

class Node {
 public:
  struct Settings {
    base::Nanos peer_warning = 0, peer_timeout = 0;
    std::function<void()> progress;  // as io::Driver's
    std::function<void(const std::string&)> warn;
    std::function<std::string()> call;  // what the program has called, for warnings
    std::uint32_t leaders_max = 1;      // in any call
    // On leaders: a loss on other hosts, looked at while they wait for ranks of their own.
    std::function<std::optional<io::Driver::Loss>()> loss;
  };

  // `names` lies by rank of the communicator; `ranks` are those of this host, the host leader
  // first. Precondition: all of them have the memory mapped.
  Node(std::unique_ptr<NodeMemory> memory, std::vector<std::uint32_t> ranks,
       std::vector<std::string> names, Settings settings);

  bool is_host_leader() const { return memory_->local_rank() == 0; }
  std::uint32_t local_rank() const { return memory_->local_rank(); }
  const NodeMemory& memory() const { return *memory_; }

  // See UdpGroup::begin; for the ranks of this host.
  void begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere);

  // Called before a turn's data are written, and after.
  base::Status ready_to_post(std::uint64_t turn);
  void post(std::uint64_t turn, const NodeCall& call);
  // On leaders: waits until all have posted the same call. deliver() follows when the data are
  // exchanged.
  base::Status await_posts(std::uint64_t turn, const NodeCall& call);
  void deliver(std::uint64_t turn);
  // On all ranks: waits until every leader has delivered. take() follows when the data are copied.
  base::Status await_delivery(std::uint64_t turn);
  void take(std::uint64_t turn);

  // Makes all ranks of the host fail with this error, now or in their next call. `lost`: the lost
  // rank of the communicator that caused it. The first failure stays.
  void fail(const base::Error& error, std::optional<std::uint32_t> lost);
  // The arguments of the first fail(), here or on another rank.
  std::optional<std::string> failure() const;
  std::optional<std::uint32_t> lost() const;

  const std::string& name(std::uint32_t rank) const { return names_[rank]; }

 private:
  enum class Side { kPosted, kDelivered, kTaken };
  struct Watch {  // what is known of one rank of the host
    base::Nanos stopped_since = 0;
    bool warned = false;
  };

  SharedGate& gate(Side side) const;
  std::uint64_t wanted(Side side, std::uint64_t turn) const;
  void reach(Side side, std::uint64_t turn, std::uint64_t count = 1);
  base::Status await(Side side, std::uint64_t turn);
  bool comes_soon(Side side, std::uint64_t turn);
  bool awaited(Side side, std::uint64_t turn, std::uint32_t local_rank) const;
  void tell_absent(base::Nanos waited);
  base::Status look_after(Side side, std::uint64_t turn, base::Nanos now);
  struct Elsewhere {
    std::uint64_t call = 0;
    std::optional<std::uint64_t> sends;  // to each rank; nothing: it is in a later call
  };
  std::optional<Elsewhere> elsewhere(std::uint32_t local_rank) const;
  base::Status part(std::uint32_t local_rank, const Elsewhere& from);
  base::Status lose(std::uint32_t local_rank, const std::string& why);
  base::Status fail_for(std::uint32_t local_rank, const base::Error& error);
  base::Status failed() const;

  std::unique_ptr<NodeMemory> memory_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::string> names_;
  Settings settings_;
  std::uint32_t leaders_ = 1;         // of the call posted last
  std::uint64_t told_absent_ = 0;     // the call in which it was told who has not come
  std::vector<Watch> watches_;        // [local_rank]
  std::array<base::Looks, 3> looks_;  // by Side
};

}  // namespace alm::node
