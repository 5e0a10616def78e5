// A tree over the members of a group whose edges are partners: members that exchange something with
// each other. What all members have to know reaches them along it, without a packet to others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/rounds.h"

namespace alm::carrier {

// Which members are partners: a row of bits for each, [member * partner_words(members) + word].
std::size_t partner_words(std::uint32_t members);
std::vector<std::uint64_t> partner_row(std::span<const std::uint64_t> send,
                                       std::span<const std::uint64_t> recv, std::uint32_t self);

// The part of one member.
class PartnerTree {
 public:
  // `rows` of all members, the same on all. Two members are partners if one of them says so. The
  // tree is about as deep as the farthest members are apart, halved. Where partners do not connect
  // all members, each further part hangs on the root by an edge that leads to no partner.
  PartnerTree(std::uint32_t members, std::uint32_t self, std::span<const std::uint64_t> rows);

  std::optional<base::PeerId> parent() const { return parent_; }
  const std::vector<base::PeerId>& children() const { return children_; }
  // One round, with the parent and the children.
  const base::Rounds& rounds() const { return rounds_; }
  // Whether an edge of this member that led to a partner no longer does by this row of its.
  bool strays(std::span<const std::uint64_t> row) const;

 private:
  std::optional<base::PeerId> parent_;
  std::vector<base::PeerId> children_;
  std::vector<base::PeerId> partners_;  // those of its edges
  base::Rounds rounds_;
};

}  // namespace alm::carrier
