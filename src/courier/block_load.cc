#include "courier/block_load.h"

#include <algorithm>
#include <vector>

namespace alm::courier {
namespace {

std::vector<std::uint64_t> sizes_of(std::span<const job::TypedBuffer> blocks) {
  std::vector<std::uint64_t> sizes;
  for (const job::TypedBuffer& block : blocks) sizes.push_back(block.bytes());
  return sizes;
}

bool about_equal(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kPart = 50;
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kPart;
}

}  // namespace

base::Status BlockLoad::learn(const BlockCall& call, std::uint32_t self, Courier& courier,
                              Failure& failure,
                              const std::function<bool(std::uint64_t load)>& wants_steps) {
  const auto send = sizes_of(call.send);
  const auto recv = sizes_of(call.recv);
  if (courier.tells_counts()) {
    const auto told = courier.tell_counts(send, recv, wants_steps);
    if (told) {
      bytes_ = std::max<std::uint64_t>(told.value(), 1);
      limit_ = courier.least_time();
      return {};
    }
    failure.give_up(call.name, told.error());
  }
  if (failure.is_final()) return failure.error();
  if (failure.happened()) {
    if (bytes_ == 0)
      bytes_ = std::max<std::uint64_t>(carrier::UnevenSteps::load_of(send, recv, self), 1);
    return {};
  }
  // A leader knows what the last exchange of all hosts needed.
  if (auto agreed = agreed_.prepare(call.name, failure, send, recv, self, courier.least_time());
      !agreed) {
    return agreed;
  }
  bytes_ = agreed_.bytes();
  limit_ = about_equal(limit_for_, bytes_) ? agreed_.limit() : 0;
  return {};
}

}  // namespace alm::courier
