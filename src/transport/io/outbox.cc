#include "transport/io/outbox.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace alm::io {

void Outbox::fill(base::Nanos now, SetEntry& entry, std::size_t limit) {
  assert(begin_ == 0);
  limit = std::min(limit, room());
  const std::size_t pulled = entry.channel.pull(now, std::span(datagrams_).subspan(end_, limit));
  for (std::size_t i = end_; i < end_ + pulled; ++i) {
    const transport::Outgoing& datagram = datagrams_[i];
    const Tuple tuple = entry.tuple(datagram.peer, datagram.path);
    items_[i] = {&entry.addresses[datagram.peer][tuple.port], tuple.socket, datagram.head(),
                 datagram.payload};
    owners_[i] = &entry;
  }
  end_ += pulled;
  entry.queued += pulled;
  entry.attention = pulled == limit;
  if (!entry.attention) entry.deadline = entry.channel.deadline();
}

void Outbox::flush(base::Nanos now, Endpoint& endpoint) {
  const std::size_t taken = endpoint.send(now, std::span(items_).subspan(begin_, end_ - begin_));
  for (std::size_t i = begin_; i < begin_ + taken; ++i) --owners_[i]->queued;
  begin_ += taken;
  if (begin_ == end_) begin_ = end_ = 0;
}

void Outbox::drop(const SetEntry& entry) {
  // The head of a datagram lies inside it: moving one means pointing at its new place.
  std::size_t kept = 0;
  for (std::size_t i = begin_; i < end_; ++i) {
    if (owners_[i] == &entry) {
      --owners_[i]->queued;
      continue;
    }
    if (kept != i) {
      datagrams_[kept] = datagrams_[i];
      items_[kept] = items_[i];
      items_[kept].head = datagrams_[kept].head();
      owners_[kept] = owners_[i];
    }
    ++kept;
  }
  begin_ = 0;
  end_ = kept;
}

}  // namespace alm::io
