// The sets of one process by number, including those that still answer for a freed communicator.
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
  std::uint64_t call = 0;  // the family's call that this rank has begun last
  bool attention = false;  // something has come or begun: pull the channel
  base::Nanos deadline = base::kNever;
  std::size_t queued = 0;  // datagrams in the outbox
  bool running = false;    // from start() until its completion or an error is returned
  bool finished = false;   // complete and released
  // The running exchange:
  base::Nanos begun = 0;
  std::uint64_t to_come = 0;           // bytes from other hosts
  std::uint64_t to_wait = 0;           // bytes to other hosts that do not leave at once
  base::Nanos next_check = 0;          // when to check the peers
  bool told_absent = false;            // a warning has named those that have not entered it
  base::Nanos next_progress = 0;       // when the thread that awaits it calls `progress`
  std::optional<base::Error> failure;  // final: the set cannot run again
  std::optional<std::uint32_t> lost;   // number of the rank it failed for

  Tuple tuple(transport::PeerId peer, std::uint8_t path) const {
    const bool known = peer < tuples.size() && path < tuples[peer].size();
    return known ? tuples[peer][path] : tuple_of(path, addresses[peer].size());
  }
  std::string name_of(std::uint32_t rank_number) const;
  // The text for a peer that has given up because of rank `told`.
  base::Error told_error(transport::PeerId peer, std::uint32_t told) const;
  // Peers that answer and have not entered the running exchange.
  std::vector<transport::PeerId> absent() const;
  // The text for a running exchange that waits for the peer in vain. `sends`: the bytes that the
  // peer sends by other means, if known.
  std::string disorder(transport::PeerId peer, std::optional<std::uint64_t> sends) const;
  // The text for two ranks that do not agree on the size of a block; empty: none.
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

  // Retires the set. It keeps answering (its peers may still miss a packet or our last
  // acknowledgement) until kRetiredMax others have been retired after it. Returns the entry to
  // remove now; the caller must make sure that nothing of it is queued, then call drop().
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
