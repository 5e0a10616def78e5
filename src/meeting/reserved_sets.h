// Set numbers of a driver, reserved so that peers can be told of them before the sets are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/io/driver.h"

namespace alm::meeting {

// Gives the numbers back unless their sets have been made.
class ReservedSets {
 public:
  ReservedSets() = default;
  ReservedSets(io::Driver& driver, std::size_t count);
  ~ReservedSets() { give_back(); }
  ReservedSets(ReservedSets&& other) noexcept;
  ReservedSets& operator=(ReservedSets&& other) noexcept;

  // Empty if fewer numbers were left than wanted.
  std::span<const std::uint16_t> numbers() const { return numbers_; }
  // The first `made` sets have been made: their owner removes them.
  void hand_over(std::size_t made);

 private:
  void give_back();

  io::Driver* driver_ = nullptr;
  std::vector<std::uint16_t> numbers_;
};

}  // namespace alm::meeting
