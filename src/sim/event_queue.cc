#include "sim/event_queue.h"

#include <algorithm>
#include <bit>

namespace alm::sim {
namespace {

constexpr std::uint64_t kEpoch = 1 << 16;  // events between two looks at the width
constexpr int kShiftMax = 40;              // about a second

}  // namespace

EventQueue::EventQueue() : heads_(kBuckets, kNoNode) {}

std::size_t EventQueue::bytes() const {
  return now_.capacity() * sizeof(Item) + heads_.capacity() * sizeof(Link) +
         nodes_.capacity() * sizeof(Node) + free_.capacity() * sizeof(std::uint32_t) +
         far_.capacity() * sizeof(Far);
}

void EventQueue::push_now(const Item& item) {
  if (at_ > 0 && at_ == now_.size()) clear_now();
  if (now_.empty() || now_.back().time <= item.time) {
    now_.push_back(item);
    return;
  }
  const auto place =
      std::upper_bound(now_.begin() + static_cast<std::ptrdiff_t>(at_), now_.end(), item.time,
                       [](Picos time, const Item& other) { return time < other.time; });
  now_.insert(place, item);
}

namespace {

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.item.time != b.item.time ? a.item.time > b.item.time : a.sequence > b.sequence;
};

}  // namespace

void EventQueue::push_far(const Item& item) {
  far_.push_back({item, far_sequence_++});
  std::push_heap(far_.begin(), far_.end(), kLater);
}

// What the window has reached. It moves before anything can be put into its newest bucket directly,
// so that events of one time stay in order.
void EventQueue::fetch_far() {
  while (!far_.empty() && (far_.front().item.time >> shift_) - hand_ < kBuckets) {
    std::pop_heap(far_.begin(), far_.end(), kLater);
    const Item item = far_.back().item;
    far_.pop_back();
    push_bucket(item, item.time >> shift_);
  }
}

void EventQueue::clear_now() {
  now_.clear();
  at_ = 0;
}

void EventQueue::advance() {
  if (popped_ - epoch_popped_ >= kEpoch) retune();
  clear_now();
  do {
    if (in_buckets_ == 0) {
      // Nothing within the window: it jumps to just before the first event beyond.
      hand_ = (far_.front().item.time >> shift_) - 1;
      fetch_far();
    }
    ++hand_;
    if (!far_.empty()) fetch_far();
    fetch_bucket(hand_ + kFetchAhead);
    Link& head = heads_[static_cast<std::size_t>(hand_ & (kBuckets - 1))];
    if (head == kNoNode) continue;
    load(head);
    head = kNoNode;
  } while (now_.empty() || (now_.size() < kAtHand && in_buckets_ > 0));
}

// Appends the events of a bucket, in order.
void EventQueue::load(Link head) {
  const auto begin = static_cast<std::ptrdiff_t>(now_.size());
  while (head != kNoNode) {
    const std::uint32_t index = head >> kCountBits;
    const Node& node = nodes_[index];
    for (std::uint32_t i = head & kCountMask; i > 0; --i) now_.push_back(node.items[i - 1]);
    free_.push_back(index);
    head = node.next;
  }
  const auto first = now_.begin() + begin;
  const auto count = static_cast<std::size_t>(now_.end() - first);
  in_buckets_ -= count;
  if (count == 1) return;
  std::reverse(first, now_.end());
  const auto earlier = [](const Item& a, const Item& b) { return a.time < b.time; };
  if (count > 32) {
    if (!std::is_sorted(first, now_.end(), earlier)) {
      std::stable_sort(first, now_.end(), earlier);
    }
    return;
  }
  for (std::size_t i = 1; i < count; ++i) {
    const Item item = first[static_cast<std::ptrdiff_t>(i)];
    std::size_t j = i;
    for (; j > 0 && item.time < first[static_cast<std::ptrdiff_t>(j - 1)].time; --j) {
      first[static_cast<std::ptrdiff_t>(j)] = first[static_cast<std::ptrdiff_t>(j - 1)];
    }
    first[static_cast<std::ptrdiff_t>(j)] = item;
  }
}

// Called with the bucket under the hand used up.
void EventQueue::retune() {
  const Picos here = hand_ << shift_;
  const Picos gap = (here - epoch_begin_) / static_cast<Picos>(popped_ - epoch_popped_);
  epoch_popped_ = popped_;
  epoch_begin_ = here;
  const int wanted = std::min(
      kShiftMax,
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<Picos>(1, gap)))));
  if (wanted >= shift_ - 1 && wanted <= shift_ + 1) return;

  std::vector<Item> items;
  items.reserve(size_);
  for (std::int64_t bucket = hand_ + 1; bucket < hand_ + kBuckets; ++bucket) {
    Link& head = heads_[static_cast<std::size_t>(bucket & (kBuckets - 1))];
    if (head == kNoNode) continue;
    clear_now();
    load(head);
    head = kNoNode;
    items.insert(items.end(), now_.begin(), now_.end());
  }
  std::sort(far_.begin(), far_.end(), [](const Far& a, const Far& b) { return kLater(b, a); });
  for (const Far& far : far_) items.push_back(far.item);
  far_.clear();
  clear_now();
  shift_ = wanted;
  // The end of the bucket used up, in new buckets: all that is left comes after it.
  hand_ = (here >> shift_) - 1;
  for (const Item& item : items) {
    const std::int64_t bucket = item.time >> shift_;
    if (bucket - hand_ < kBuckets) {
      push_bucket(item, bucket);
    } else {
      push_far(item);
    }
  }
}

}  // namespace alm::sim
