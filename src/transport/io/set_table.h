// The sets of one process by number, those still answering after their communicator died included.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::io {

struct PeerSet;

struct SetEntry {
  SetEntry(std::uint16_t set, PeerSet&& peers);

  std::uint16_t number;
  transport::Channel channel;
  std::vector<std::vector<Address>> addresses;
  std::vector<Tuples> tuples;
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> names;
  std::uint16_t family;
  std::uint64_t call = 0;  // of the family, which this rank has begun last
  bool attention = false;  // something came or began: pull
  base::Nanos deadline = base::kNever;
  std::size_t queued = 0;  // datagrams pulled and not yet taken by the kernel
  bool running = false;    // from start() on, until its completion or an error is returned
  bool finished = false;   // complete and released
  // Of the running exchange.
  base::Nanos begun = 0;
  base::Nanos next_check = 0;          // of the peers
  bool told_absent = false;            // that some have not entered it
  base::Nanos next_progress = 0;       // of the thread that awaits it
  std::optional<base::Error> failure;  // final: the set cannot run again
  std::optional<std::uint32_t> lost;   // number of the rank it failed for

  Tuple tuple(transport::PeerId peer, std::uint8_t path) const {
    const bool known = peer < tuples.size() && path < tuples[peer].size();
    return known ? tuples[peer][path] : tuple_of(path, addresses[peer].size());
  }
  std::string name_of(std::uint32_t rank_number) const;
  // Why the peer has given up, which has told the number of a rank.
  std::string given_up(transport::PeerId peer, std::uint32_t told) const;
  // Peers that answer and have not entered the running exchange.
  std::vector<transport::PeerId> absent() const;
  // Why the running exchange waits for the peer in vain, which sends so many bytes, if that is
  // known.
  std::string disorder(transport::PeerId peer, std::optional<std::uint64_t> sends) const;
  // Empty unless two ranks do not agree on the size of a block.
  std::string mismatch() const;
};

class SetTable {
 public:
  static constexpr std::size_t kRetiredMax = 240;

  std::uint16_t reserve();  // 0: none left
  void add(std::uint16_t set, PeerSet&& peers);
  SetEntry* find(std::uint16_t set) const {
    return set < slots_.size() ? slots_[set].get() : nullptr;
  }
  const std::vector<SetEntry*>& live() const { return live_; }

  // Marks the set dead. It keeps answering (its peers may still miss a packet or our last
  // acknowledgement) until kRetiredMax others have died after it. Returns the entry that is to go
  // for good now; the caller makes sure nothing of it is queued, then calls drop().
  SetEntry* retire(std::uint16_t set);
  void drop(SetEntry* entry);

 private:
  std::vector<std::unique_ptr<SetEntry>> slots_;
  std::vector<bool> taken_;  // reserved or in use
  std::vector<SetEntry*> live_;
  std::deque<SetEntry*> retired_;
  std::uint16_t last_ = 0;
};

}  // namespace alm::io
