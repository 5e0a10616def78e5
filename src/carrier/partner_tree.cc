#include "carrier/partner_tree.h"

#include <algorithm>
#include <limits>

namespace alm::carrier {
namespace {

constexpr std::uint32_t kBits = 64;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

bool has(std::span<const std::uint64_t> row, std::uint32_t member) {
  return (row[member / kBits] >> (member % kBits) & 1) != 0;
}

// Members in the order in which they are reached from one of them, and from whom.
struct Reached {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> from;  // [member] kNone: the first one, or not reached
};

class Partners {
 public:
  Partners(std::uint32_t members, std::span<const std::uint64_t> rows) : of_(members) {
    const std::size_t words = partner_words(members);
    for (std::uint32_t a = 0; a < members; ++a) {
      for (std::uint32_t b = a + 1; b < members; ++b) {
        if (!has(rows.subspan(a * words, words), b) && !has(rows.subspan(b * words, words), a)) {
          continue;
        }
        of_[a].push_back(b);
        of_[b].push_back(a);
      }
    }
  }

  Reached reach(std::uint32_t first) const {
    Reached reached{{first}, std::vector<std::uint32_t>(of_.size(), kNone)};
    for (std::size_t next = 0; next < reached.order.size(); ++next) {
      const std::uint32_t member = reached.order[next];
      for (const std::uint32_t partner : of_[member]) {
        if (partner == first || reached.from[partner] != kNone) continue;
        reached.from[partner] = member;
        reached.order.push_back(partner);
      }
    }
    return reached;
  }
  // In the middle of the way between two that are far apart.
  std::uint32_t middle_of(std::uint32_t any) const {
    const std::uint32_t one_end = reach(any).order.back();
    const Reached reached = reach(one_end);
    std::vector<std::uint32_t> way;
    for (std::uint32_t at = reached.order.back(); at != kNone; at = reached.from[at]) {
      way.push_back(at);
    }
    return way[way.size() / 2];
  }

 private:
  std::vector<std::vector<std::uint32_t>> of_;  // [member]
};

}  // namespace

std::size_t partner_words(std::uint32_t members) { return (members + kBits - 1) / kBits; }

std::vector<std::uint64_t> partner_row(std::span<const std::uint64_t> send,
                                       std::span<const std::uint64_t> recv, std::uint32_t self) {
  std::vector<std::uint64_t> row(partner_words(static_cast<std::uint32_t>(send.size())));
  for (std::uint32_t member = 0; member < send.size(); ++member) {
    if (member == self || (send[member] | recv[member]) == 0) continue;
    row[member / kBits] |= std::uint64_t{1} << (member % kBits);
  }
  return row;
}

PartnerTree::PartnerTree(std::uint32_t members, std::uint32_t self,
                         std::span<const std::uint64_t> rows) {
  const Partners partners(members, rows);
  std::vector<bool> placed(members);
  std::uint32_t root = kNone;
  for (std::uint32_t first = 0; first < members; ++first) {
    if (placed[first]) continue;
    const Reached part = partners.reach(partners.middle_of(first));
    for (const std::uint32_t member : part.order) {
      placed[member] = true;
      const std::uint32_t parent = part.from[member];
      if (parent == kNone) continue;
      if (member == self) parent_ = partners_.emplace_back(parent);
      if (parent == self) children_.push_back(partners_.emplace_back(member));
    }
    const std::uint32_t top = part.order.front();
    if (root == kNone) {
      root = top;
    } else {
      if (top == self) parent_ = root;
      if (root == self) children_.push_back(top);
    }
  }
  rounds_.send = children_;
  if (parent_) rounds_.send.push_back(*parent_);
  rounds_.recv = rounds_.send;
  rounds_.send_begin = rounds_.recv_begin = {0, static_cast<std::uint32_t>(rounds_.send.size())};
}

bool PartnerTree::strays(std::span<const std::uint64_t> row) const {
  return std::any_of(partners_.begin(), partners_.end(),
                     [&](base::PeerId partner) { return !has(row, partner); });
}

}  // namespace alm::carrier
