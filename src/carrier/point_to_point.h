// What carries the blocks of an exchange as MPI messages. The MPI binding implements it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "transport/channel.h"

namespace alm::carrier {

// Rounds over MPI point-to-point messages, on a communicator of its own.
class PointToPoint {
 public:
  static constexpr std::uint32_t kFew = 4;

  virtual ~PointToPoint() = default;
  // With so many messages outstanding at once, or as many as there are ranks.
  virtual base::Status run(const transport::Exchange& exchange, std::uint32_t outstanding) = 0;
  // Tells all others that this rank has failed; nothing runs after.
  virtual void give_up() = 0;
  virtual std::uint64_t messages_sent() const = 0;
};

}  // namespace alm::carrier
