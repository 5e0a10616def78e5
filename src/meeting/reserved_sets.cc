#include "meeting/reserved_sets.h"

#include <utility>

namespace alm::meeting {

ReservedSets::ReservedSets(io::Driver& driver, std::size_t count) : driver_(&driver) {
  while (numbers_.size() < count) {
    const std::uint16_t number = driver.reserve_set();
    if (number == 0) {
      give_back();
      return;
    }
    numbers_.push_back(number);
  }
}

ReservedSets::ReservedSets(ReservedSets&& other) noexcept
    : driver_(other.driver_), numbers_(std::exchange(other.numbers_, {})) {}

ReservedSets& ReservedSets::operator=(ReservedSets&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  driver_ = other.driver_;
  numbers_ = std::exchange(other.numbers_, {});
  return *this;
}

void ReservedSets::hand_over(std::size_t made) {
  numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(made));
  give_back();
}

void ReservedSets::give_back() {
  for (const std::uint16_t number : numbers_) driver_->remove_set(number);
  numbers_.clear();
}

}  // namespace alm::meeting
