// Recursive doubling (the exchange on a hypercube): for p a power of two, log2 p phases of one
// partner. In phase k rank r exchanges with r xor 2^k and hands it every block it holds whose
// destination differs from r in bit k.
// Cost: log2 p messages of p/2 blocks, against p - 1 of one: for tiny blocks, where a message costs
// more than what is in it.
#include <fmt/format.h>

#include <bit>

#include "plan/rounds.h"

namespace alm::plan {
namespace {

// Before phase k a block stands where the bits below k are those of its destination, the others
// those of its origin.
std::vector<Move> message(std::uint32_t ranks, std::uint32_t from, std::uint32_t to,
                          std::uint32_t bit) {
  const std::uint32_t low = bit - 1;
  std::vector<Move> moves;
  for (std::uint32_t high = 0; high < ranks; high += 2 * bit) {
    for (std::uint32_t origin = 0; origin < bit; ++origin) {
      moves.push_back({{(from & ~low) | origin}, {(from & low) | (to & bit) | high}});
    }
  }
  return moves;
}

}  // namespace

base::Status plan_recursive_doubling(const Request& request, Plan& plan) {
  const std::uint32_t ranks = request.ranks;
  if (!std::has_single_bit(ranks)) {
    return base::bad_input(fmt::format(
        "`recursive-doubling` takes a power of two, not {} ranks; take another algorithm, as "
        "`bruck`",
        ranks));
  }
  const std::uint32_t self = plan.self.value;
  for (std::uint32_t bit = 1; bit < ranks; bit *= 2) {
    Phase& phase = plan.phases.emplace_back();
    phase.self = self;
    append_send(phase, self ^ bit, message(ranks, self, self ^ bit, bit));
    append_receive(phase, self ^ bit, message(ranks, self ^ bit, self, bit));
  }
  return {};
}

}  // namespace alm::plan
