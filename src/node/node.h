// The ranks of a communicator on one host, and how they wait for each other. Their exchanges go in
// turns, numbered from 0 over the life of the communicator:
//
//   post     a rank has put what it sends into the shared memory
//   deliver  the leaders of the call have exchanged it with the other hosts
//   take     a rank has copied what is for it
//
// Even and odd turns have buffers of their own: a rank may post turn n once all have taken n - 2.
// Waiting ranks sleep, let MPI proceed every millisecond and look every tenth of a second whether
// those they wait for are alive, and not in another kind of exchange in this call. A failure found
// by one ends the waiting of all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "node/node_memory.h"
#include "transport/io/driver.h"

namespace alm::node {

// What a rank has come with: equal on all ranks in a correct program.
struct NodeCall {
  enum Kind : std::uint64_t { kNone, kAlltoall, kBlocks };
  Kind kind = kNone;
  std::uint64_t bytes = 0;  // per pair; kAlltoall
  // So many ranks of the host, its first, exchange a part each: all of them are leaders.
  std::uint32_t leaders = 1;
};

class Node {
 public:
  struct Settings {
    base::Nanos peer_warning = 0, peer_timeout = 0;
    std::function<void()> progress;  // as io::Driver's
    std::function<void(const std::string&)> warn;
    std::uint32_t leaders_max = 1;  // of any call
    // On leaders: what they know of the other hosts while they wait for their own.
    std::function<std::optional<io::Driver::Loss>()> loss;
  };

  // names[rank of the communicator]; `ranks` are those of this host, the host leader first. All of
  // them have the memory mapped.
  Node(std::unique_ptr<NodeMemory> memory, std::vector<std::uint32_t> ranks,
       std::vector<std::string> names, Settings settings);

  bool is_host_leader() const { return memory_->local_rank() == 0; }
  std::uint32_t local_rank() const { return memory_->local_rank(); }
  const NodeMemory& memory() const { return *memory_; }

  // As UdpCarrier's, for the ranks of this host.
  void begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere);

  // Before a turn's data are written, and after.
  base::Status ready_to_post(std::uint64_t turn);
  void post(std::uint64_t turn, const NodeCall& call);
  // By the leaders: all have posted, with the same call. Then, when they have exchanged the data:
  base::Status await_posts(std::uint64_t turn, const NodeCall& call);
  void deliver(std::uint64_t turn);
  // By all: every leader has delivered. Then, when they have copied their data:
  base::Status await_delivery(std::uint64_t turn);
  void take(std::uint64_t turn);

  // All ranks of the host fail with this error, now or when they next come. `lost`: the rank of the
  // communicator for want of which. The first failure stays.
  void fail(const base::Error& error, std::optional<std::uint32_t> lost);
  // What has been told to fail(), here or by another rank.
  std::optional<std::string> failure() const;
  std::optional<std::uint32_t> lost() const;

  const std::string& name(std::uint32_t rank) const { return names_[rank]; }

 private:
  enum class Side { kPosted, kDelivered, kTaken };
  struct Watch {  // on one rank of the host
    base::Nanos stopped_since = 0;
    bool warned = false;
  };

  SharedGate& gate(Side side) const;
  std::uint64_t wanted(Side side, std::uint64_t turn) const;
  void reach(Side side, std::uint64_t turn, std::uint64_t count = 1);
  base::Status await(Side side, std::uint64_t turn);
  bool awaited(Side side, std::uint64_t turn, std::uint32_t local_rank) const;
  base::Status look_after(Side side, std::uint64_t turn, base::Nanos now);
  struct Elsewhere {
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
  std::uint32_t leaders_ = 1;   // of the call posted last
  std::vector<Watch> watches_;  // [local_rank]
};

}  // namespace alm::node
