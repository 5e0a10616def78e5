#include "carrier/uneven_steps.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "plan/uneven.h"

namespace alm::carrier {
namespace {

// A plan is worth its making from here on: some forty packets.
constexpr std::uint64_t kPlanBytes = 64 << 10;
// The small exchange is a hundredth of one in which a member carries this much.
constexpr std::uint64_t kLargeBytes = 1 << 20;
constexpr std::uint64_t kHundred = 100;
constexpr std::uint32_t kDoublingsSmall = 6;
constexpr std::uint32_t kDoublingsMedium = 3;
constexpr std::uint32_t kDoublingsSparse = 8;
// An exchange is sparse where there are so many members, and none has more than 1 / kSparsePart of
// them as partners.
constexpr std::uint64_t kSparseMembers = 16;
constexpr std::uint64_t kSparsePart = 4;
// All counts may take 1 / kMatrixPart of the bytes that the fullest member carries.
constexpr std::uint64_t kMatrixPart = 20;
constexpr std::uint64_t kPacketCost = 100;  // of a small one, in bytes, beside what is in it

std::uint64_t hash_of(std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv) {
  return XXH3_64bits_withSeed(send.data(), send.size_bytes(),
                              XXH3_64bits(recv.data(), recv.size_bytes()));
}

std::uint64_t sum_without(std::span<const std::uint64_t> bytes, std::uint32_t self) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += i == self ? 0 : bytes[i];
  return sum;
}

std::uint64_t partners_in(std::span<const std::uint64_t> row) {
  int partners = 0;
  for (const std::uint64_t word : row) partners += std::popcount(word);
  return static_cast<std::uint64_t>(partners);
}

}  // namespace

UnevenSteps::UnevenSteps(UdpGroup& group, Network network)
    : group_(group), network_(std::move(network)), allowance_(matrix_cost()) {
  // The paths of the group's rounds are for equal blocks.
  open_ = group_.plan().rounds();
  if (network_.paths) open_.paths.assign(open_.send.size(), base::Rounds::kAnyPath);
  if (network_.cluster == nullptr || group_.site_plan() == nullptr) return;
  const double latency_us = topology::latency_seconds(*network_.cluster, network_.hosts) *
                            base::kSecond / base::kMicrosecond;
  latency_bytes_ = static_cast<std::uint64_t>(latency_us / network_.packet_time_us *
                                              group_.config().datagram_bytes);
}

// Bytes that all counts take on their way to all members.
std::uint64_t UnevenSteps::matrix_cost() const {
  const std::uint64_t members = group_.members();
  return members * (members * sizeof(std::uint64_t) + kPacketCost);
}

std::uint64_t UnevenSteps::load_of(std::span<const std::uint64_t> send,
                                   std::span<const std::uint64_t> recv, std::uint32_t self) {
  return std::max(sum_without(send, self), sum_without(recv, self));
}

std::uint64_t UnevenSteps::calls_between(std::uint64_t load, std::uint32_t without_news,
                                         std::uint64_t latency_bytes, bool sparse) {
  if (sparse) return (std::uint64_t{1} << std::min(without_news, kDoublingsSparse)) - 1;
  if (load >= std::max(kLargeBytes, kHundred * latency_bytes)) return 0;
  const std::uint32_t doublings = load >= kPlanBytes ? kDoublingsMedium : kDoublingsSmall;
  return (std::uint64_t{1} << std::min(without_news, doublings)) - 1;
}

base::Status UnevenSteps::prepare(std::span<const std::uint64_t> send,
                                  std::span<const std::uint64_t> recv,
                                  const WantsSteps& wants_steps) {
  const std::uint64_t hash = hash_of(send, recv);
  allowance_ = std::min(allowance_ + load_ / kMatrixPart, 2 * matrix_cost());
  if (wait_ > 0) {
    --wait_;
  } else if (auto agreed = agree(hash, send, recv, wants_steps); !agreed) {
    return agreed;
  }
  planned_ = has_steps_ && planned_for_ == hash;
  return {};
}

base::Status UnevenSteps::compare(Told& told) {
  if (tree_) return group_.reduce_max(*tree_, told);
  std::vector<std::uint64_t> all(std::size_t{group_.members()} * kStrays);
  if (auto gathered = group_.gather(std::as_bytes(std::span(told).first(kStrays)),
                                    std::as_writable_bytes(std::span(all)));
      !gathered) {
    return gathered;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint64_t& word = told[i % kStrays];
    word = std::max(word, all[i]);
  }
  return {};
}

base::Status UnevenSteps::meet_partners(std::span<const std::uint64_t> row) {
  std::vector<std::uint64_t> rows(group_.members() * row.size());
  if (auto told = group_.gather(std::as_bytes(row), std::as_writable_bytes(std::span(rows)));
      !told) {
    return told;
  }
  tree_.emplace(group_.members(), group_.self(), rows);
  return {};
}

base::Status UnevenSteps::agree(std::uint64_t hash, std::span<const std::uint64_t> send,
                                std::span<const std::uint64_t> recv,
                                const WantsSteps& wants_steps) {
  const std::uint32_t members = group_.members();
  const auto row = partner_row(send, recv, group_.self());
  Told told{};
  told[kLoad] = load_of(send, recv, group_.self());
  told[kNews] = hash != told_hash_ ? 1 : 0;
  told[kPartners] = partners_in(row);
  told[kStrays] = tree_ && tree_->strays(row) ? 1 : 0;
  if (auto compared = compare(told); !compared) return compared;
  told_hash_ = hash;
  load_ = told[kLoad];
  const bool news = told[kNews] != 0;
  const bool small = load_ < kPlanBytes;  // then news need not be followed
  const bool sparse = members >= kSparseMembers && told[kPartners] * kSparsePart <= members;
  if (!sparse) {
    tree_.reset();
  } else if (members <= plan::kUnevenRanksMax && (!tree_ || told[kStrays] != 0)) {
    if (auto met = meet_partners(row); !met) return met;
  }
  without_news_ = news && !small && !sparse ? 0 : without_news_ + 1;
  wait_ = calls_between(load_, without_news_, latency_bytes_, sparse);
  if (small || sparse) {  // the usual rounds serve few partners better
    has_steps_ = false;
    least_time_ = 0;
    return {};
  }
  if (news) {
    matrix_due_ = uses_counts() && members <= plan::kUnevenRanksMax;
    least_time_ = 0;
  }
  if (!matrix_due_ || allowance_ < matrix_cost()) return {};
  if (wants_steps && !wants_steps(load_)) return {};
  matrix_due_ = false;
  allowance_ -= matrix_cost();
  std::vector<std::uint64_t> matrix(std::size_t{members} * members);
  if (auto known = group_.gather(std::as_bytes(send), std::as_writable_bytes(std::span(matrix)));
      !known) {
    return known;
  }
  planned_for_ = hash;
  make_steps(matrix);
  return {};
}

void UnevenSteps::make_steps(std::span<const std::uint64_t> matrix) {
  stepped_sites_.reset();
  has_steps_ = network_.paths != nullptr;
  stepped_ = group_.plan().rounds();
  if (network_.paths) stepped_.paths = network_.paths(matrix, stepped_.send);
  if (network_.cluster != nullptr) make_trains(matrix);
}

void UnevenSteps::make_trains(std::span<const std::uint64_t> matrix) {
  const std::uint32_t members = group_.members();
  const auto limit_of = [&](topology::Packing packing) {
    return base::kSecond *
           topology::traffic_limit_seconds(*network_.cluster, network_.hosts, matrix, packing);
  };
  least_time_ = static_cast<base::Nanos>(limit_of(topology::Packing::kShared));
  const double limit_us = limit_of(topology::Packing::kPerMessage) / base::kMicrosecond;
  if (is_lone(matrix, limit_us)) {
    stepped_.window_least = network_.unshared_window;
    has_steps_ = true;
    return;
  }
  if (!plan::uneven_pays(matrix, members)) return;
  has_steps_ = true;
  auto made = plan::make_uneven(
      {.ranks = members,
       .self = {group_.self()},
       .bytes = matrix,
       .packet_bytes = group_.packet_bytes(),
       .grain_packets = group_.config().grain_packets,
       .link_steps = static_cast<std::uint64_t>(std::ceil(limit_us / network_.packet_time_us))});
  if (const plan::Plan* sites = group_.site_plan()) {
    plan::Plan stepped = *sites;
    plan::set_steps(stepped, made);
    stepped_sites_.emplace(std::move(stepped));
  }
  stepped_.trains = std::move(made.send);
  stepped_.arrivals = std::move(made.recv);
  stepped_.steps = made.steps;
}

// Whether each block has its links for itself. Then a window that only keeps queues short would
// leave the link idle whenever a process comes late to the processor.
bool UnevenSteps::is_lone(std::span<const std::uint64_t> matrix, double limit_us) const {
  constexpr double kAbout = 1.02;  // headers and last packets
  if (network_.unshared_window == 0 || network_.paths || group_.site_plan() != nullptr)
    return false;
  if (!plan::unshared(matrix, group_.members())) return false;
  std::uint64_t largest = 0;
  for (std::size_t at = 0; at < matrix.size(); ++at) {
    if (at % (group_.members() + std::size_t{1}) != 0) largest = std::max(largest, matrix[at]);
  }
  const std::uint64_t packets = (largest + group_.packet_bytes() - 1) / group_.packet_bytes();
  return limit_us <= kAbout * static_cast<double>(packets) * network_.packet_time_us;
}

base::Status UnevenSteps::run(transport::Exchange exchange) {
  const bool stepped = planned_ && stepped_sites_;
  exchange.rounds = &rounds();
  return group_.run_blocks(exchange, stepped ? &*stepped_sites_ : nullptr);
}

const base::Rounds& UnevenSteps::rounds() const { return planned_ ? stepped_ : open_; }

}  // namespace alm::carrier
