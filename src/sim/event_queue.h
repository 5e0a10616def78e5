// Pending events in total order of (time, order of insertion): a calendar queue.
//
// Time is cut into buckets of 2^k picoseconds; a window of buckets is kept as lists, later events
// in a heap. The bucket under the hand is sorted into a flat array, stably, so that events of one
// time keep their order. The width follows the rate of events: about two per bucket. It affects the
// speed, never the order of events.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/time.h"

namespace alm::sim {

enum class EventKind : std::uint8_t {
  kArrive,     // target: port; a packet reaches the far end of it
  kReady,      // target: port; a packet whose tail is still coming can go out
  kPull,       // target: host; its egress queue has room again
  kTimer,      // target: host
  kDeliver,    // target: host; its processor gets to a packet that came earlier
  kArbitrate,  // target: port; free for the next packet that waits for it
  kInputFree,  // target: fifo; the packet at its head may ask for its port
  kCredit,     // target: port; room in the buffer at its far end
  kCheck,      // target: none; looks for deadlock
  kReroute,    // target: none; routes are made anew without the links that are down
  kCard,       // target: host; its card may have finished the packet it sends
};

struct Event {
  Picos time = 0;
  std::uint32_t packet = 0;
  std::uint32_t target = 0;
  EventKind kind = EventKind::kArrive;
};

class EventQueue {
 public:
  static constexpr std::uint32_t kKindShift = 28;
  static constexpr std::uint32_t kTargetMask = (1u << kKindShift) - 1;
  struct Item {
    Picos time;
    std::uint32_t packet;
    std::uint32_t what;
  };

  EventQueue();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t popped() const { return popped_; }
  std::size_t bytes() const;

  // Precondition: `time` is not before that of the event popped last.
  void push(Picos time, EventKind kind, std::uint32_t target, std::uint32_t packet = 0) {
    ++size_;
    const Item item{time, packet, pack(kind, target)};
    const std::int64_t bucket = time >> shift_;
    if (bucket <= hand_) {
      push_now(item);
    } else if (bucket - hand_ < kBuckets) {
      push_bucket(item, bucket);
    } else {
      push_far(item);
    }
  }

  // The event `ahead` places after the next one, if it is in the flat array; else null. Events
  // pushed meanwhile may come before it.
  const Item* peek(std::size_t ahead) const {
    return at_ + ahead < now_.size() ? &now_[at_ + ahead] : nullptr;
  }
  static Event event_of(const Item& item) {
    return {item.time, item.packet, item.what & kTargetMask,
            static_cast<EventKind>(item.what >> kKindShift)};
  }

  // The time of the next event; kNever: there is none.
  Picos next_time() {
    if (size_ == 0) return kNever;
    if (at_ == now_.size()) advance();
    return now_[at_].time;
  }

  // Precondition: not empty.
  Event pop() {
    if (at_ == now_.size()) advance();
    const Item& item = now_[at_++];
    --size_;
    ++popped_;
    return event_of(item);
  }

 private:
  static constexpr std::int64_t kBuckets = 1 << 15;
  // A node and how many of its items are in use: 8 * node + count.
  using Link = std::uint32_t;
  static constexpr Link kNoNode = UINT32_MAX;
  static constexpr std::uint32_t kCountBits = 3;
  static constexpr std::uint32_t kCountMask = (1u << kCountBits) - 1;

  // Some events of a bucket, in the order of insertion; those of node `next` are older. Takes two
  // cache lines. The Link to a node holds its count, so that a push writes to the node without
  // reading it first.
  static constexpr std::uint32_t kNodeItems = 7;
  struct alignas(128) Node {
    std::array<Item, kNodeItems> items;
    Link next = kNoNode;
  };
  struct Far {
    Item item;
    std::uint64_t sequence;
  };

  static constexpr std::int64_t kFetchAhead = 8;  // buckets
  static constexpr std::size_t kAtHand = 256;     // events taken from the buckets at once, at least

  static std::uint32_t pack(EventKind kind, std::uint32_t target) {
    return (static_cast<std::uint32_t>(kind) << kKindShift) | target;
  }
  void push_bucket(const Item& item, std::int64_t bucket) {
    Link& head = heads_[static_cast<std::size_t>(bucket & (kBuckets - 1))];
    // Also true for kNoNode.
    if ((head & kCountMask) == kNodeItems) head = make_node(head);
    nodes_[head >> kCountBits].items[head & kCountMask] = item;
    ++head;
    ++in_buckets_;
  }
  // Makes an empty node in front of `next`.
  Link make_node(Link next) {
    if (free_.empty()) {
      nodes_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
    }
    const std::uint32_t node = free_.back();
    free_.pop_back();
    nodes_[node].next = next;
    return node << kCountBits;
  }
  // Prefetches a bucket that will be loaded soon.
  void fetch_bucket(std::int64_t bucket) const {
    const Link head = heads_[static_cast<std::size_t>(bucket & (kBuckets - 1))];
    if (head != kNoNode) __builtin_prefetch(&nodes_[head >> kCountBits]);
  }
  void push_now(const Item& item);
  void push_far(const Item& item);
  void advance();
  void load(Link head);
  void clear_now();
  void fetch_far();
  void retune();

  std::vector<Item> now_;  // the buckets up to the hand, from at_ on
  std::size_t at_ = 0;
  std::int64_t hand_ = 0;  // number of the last bucket in now_
  std::vector<Link> heads_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;  // nodes
  std::size_t in_buckets_ = 0;
  std::vector<Far> far_;  // heap
  std::uint64_t far_sequence_ = 0;
  int shift_ = 16;
  std::size_t size_ = 0;
  std::uint64_t popped_ = 0;

  // Since the width was last reconsidered.
  std::uint64_t epoch_popped_ = 0;
  Picos epoch_begin_ = 0;
};

}  // namespace alm::sim
