// Datagrams that were pulled from channels and that the kernel has not taken yet. It is filled only
// when empty, so that what to send is decided as late as possible.
#pragma once

#include <array>
#include <cstddef>

#include "transport/channel.h"
#include "transport/io/endpoint.h"
#include "transport/io/sender.h"
#include "transport/io/set_table.h"

namespace alm::io {

class Outbox {
 public:
  static constexpr std::size_t kCapacity = Sender::kItemsPerCall;

  bool empty() const { return begin_ == end_; }

  // Pulls up to `limit` datagrams from the set's channel. Precondition: nothing has been flushed
  // since the outbox was last empty.
  void fill(base::Nanos now, SetEntry& entry, std::size_t limit);
  // Hands over as many as the endpoint takes.
  void flush(base::Nanos now, Endpoint& endpoint);
  // Drops all datagrams of the set.
  void drop(const SetEntry& entry);

  std::size_t room() const { return kCapacity - end_; }

 private:
  std::array<transport::Outgoing, kCapacity> datagrams_;
  std::array<SendItem, kCapacity> items_;
  std::array<SetEntry*, kCapacity> owners_{};
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace alm::io
