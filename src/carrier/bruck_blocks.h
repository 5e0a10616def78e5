// Blocks on their way through the phases of plan/bruck.h, whatever carries the messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/byte_store.h"
#include "plan/bruck.h"
#include "transport/channel.h"

namespace alm::carrier {

class BruckBlocks {
 public:
  BruckBlocks(plan::Bruck bruck, std::uint32_t self);

  const plan::Bruck& bruck() const { return bruck_; }
  std::size_t phases() const { return phases_.size(); }

  // One block of `bytes` per rank, self's included; `send` may be left alone from here on.
  void begin(const std::byte* send, std::uint64_t bytes);
  // Then for each phase: what is to be exchanged, and when that has come. The exchange refers to
  // this object.
  transport::Exchange exchange(std::size_t phase);
  void arrived(std::size_t phase);
  // The block of each rank.
  void finish(std::byte* recv) const;

 private:
  struct Phase {
    base::Rounds rounds;  // all partners in one
  };

  plan::Bruck bruck_;
  std::uint32_t self_;
  std::uint64_t bytes_ = 0;
  std::vector<Phase> phases_;
  std::vector<std::uint64_t> send_size_, send_at_, recv_size_, recv_at_;  // [rank], of one phase
  base::ByteStore held_store_, out_store_, in_store_;
  std::byte* held_ = nullptr;  // [distance]
  std::byte* out_ = nullptr;
  std::byte* in_ = nullptr;
};

}  // namespace alm::carrier
