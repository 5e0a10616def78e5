#include "carrier/bruck_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace alm::carrier {

BruckBlocks::BruckBlocks(plan::Bruck bruck, std::uint32_t self)
    : bruck_(std::move(bruck)),
      self_(self),
      send_size_(bruck_.ranks),
      send_at_(bruck_.ranks),
      recv_size_(bruck_.ranks),
      recv_at_(bruck_.ranks) {
  for (const auto& of_plan : bruck_.phases) {
    Phase phase;
    for (const std::uint32_t shift : of_plan.shift) {
      phase.rounds.send.push_back((self_ + shift) % bruck_.ranks);
      phase.rounds.recv.push_back((self_ + bruck_.ranks - shift) % bruck_.ranks);
    }
    phase.rounds.send_begin =
        phase.rounds.recv_begin = {0, static_cast<std::uint32_t>(of_plan.shift.size())};
    phases_.push_back(std::move(phase));
  }
}

void BruckBlocks::begin(const std::byte* send, std::uint64_t bytes) {
  bytes_ = bytes;
  const std::uint64_t all = bytes * bruck_.ranks;
  held_ = held_store_.reserve(all);
  out_ = out_store_.reserve(all);
  in_ = in_store_.reserve(all);
  const std::uint64_t below = bytes * self_;
  std::memcpy(held_, send + below, all - below);
  std::memcpy(held_ + all - below, send, below);
}

transport::Exchange BruckBlocks::exchange(std::size_t index) {
  const auto& plan = bruck_.phases[index];
  const Phase& phase = phases_[index];
  for (std::size_t i = 0; i < plan.block.size(); ++i) {
    std::memcpy(out_ + i * bytes_, held_ + plan.block[i] * bytes_, bytes_);
  }
  std::fill(send_size_.begin(), send_size_.end(), 0);
  std::fill(recv_size_.begin(), recv_size_.end(), 0);
  for (std::size_t i = 0; i < plan.shift.size(); ++i) {
    send_at_[phase.rounds.send[i]] = recv_at_[phase.rounds.recv[i]] = plan.begin[i] * bytes_;
    send_size_[phase.rounds.send[i]] = recv_size_[phase.rounds.recv[i]] =
        (plan.begin[i + 1] - plan.begin[i]) * bytes_;
  }
  transport::Exchange exchange;
  exchange.rounds = &phase.rounds;
  exchange.send = {out_, 0, 0, send_at_, send_size_};
  exchange.recv = {in_, 0, 0, recv_at_, recv_size_};
  return exchange;
}

// What has come for a distance takes the place of what has gone.
void BruckBlocks::arrived(std::size_t index) {
  const auto& block = bruck_.phases[index].block;
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::memcpy(held_ + block[i] * bytes_, in_ + i * bytes_, bytes_);
  }
}

void BruckBlocks::finish(std::byte* recv) const {
  for (std::uint32_t distance = 0; distance < bruck_.ranks; ++distance) {
    const std::uint32_t from = (self_ + bruck_.ranks - distance) % bruck_.ranks;
    std::memcpy(recv + from * bytes_, held_ + distance * bytes_, bytes_);
  }
}

}  // namespace alm::carrier
