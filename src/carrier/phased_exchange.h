// An exchange in phases (plan/phased.h) over UDP. Each phase has a set of peers of its own, so that
// to the transport it is an exchange like any other, and one call's phase acknowledges the same
// phase of the call before.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/io/driver.h"

namespace alm::carrier {

class PhasedExchange {
 public:
  virtual ~PhasedExchange() = default;

  // `send` and `recv` hold one block of `bytes` per rank, self's included.
  virtual base::Status run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                           const io::Driver::Progress& progress, const io::Driver::Warn& warn) = 0;

  virtual std::vector<std::uint16_t> sets() const = 0;
};

}  // namespace alm::carrier
