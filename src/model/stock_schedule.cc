#include "model/stock_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

namespace alm::model {
namespace {

constexpr std::uint32_t kThrottle = 32;  // MPIR_CVAR_ALLTOALL_THROTTLE
constexpr std::uint32_t kParameterMax = 65535;
// btl_tcp_eager_limit, less ob1's and the BTL's headers. Of a longer message Open MPI 5 sends none
// before the receiver has answered, as losses in the lab tell.
constexpr StockTransfer kOpenMpi{.header_bytes = 32, .eager_bytes = 65'500, .first_bytes = 0};
// What MPICH's netmods send over TCP without asking (libfabric's rxm: FI_OFI_RXM_SAR_LIMIT).
constexpr StockTransfer kMpich{.header_bytes = 48, .eager_bytes = 131'072, .first_bytes = 0};

// The value of `name=` in the part of a candidate after its algorithm.
std::optional<std::uint32_t> parameter(std::string_view text, std::string_view name,
                                       std::uint32_t least) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != '=') return {};
  text.remove_prefix(name.size() + 1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  if (value < least || value > kParameterMax) return {};
  return value;
}

}  // namespace

base::Result<StockSchedule> StockSchedule::make(std::string_view candidate, std::uint32_t ranks) {
  struct Known {
    std::string_view name;
    Kind kind;
    std::uint32_t StockSchedule::*setting = nullptr;
    std::string_view parameter = {};
    std::uint32_t least = 0, unless = 0;
  };
  static constexpr Known kKnown[] = {
      {"openmpi:linear", Kind::kLinear},
      {"openmpi:linear-sync", Kind::kLinear, &StockSchedule::window_, "reqs", 1, 0},
      {"openmpi:pairwise", Kind::kShift},
      {"openmpi:bruck", Kind::kBruck},
      {"mpich:scattered", Kind::kLinear, &StockSchedule::batch_, "throttle", 1, kThrottle},
      {"mpich:pairwise", Kind::kXor},
      {"mpich:bruck", Kind::kBruck, &StockSchedule::radix_, "k", 2, 2},
      {"query", Kind::kQuery},
  };
  for (const Known& known : kKnown) {
    if (!candidate.starts_with(known.name)) continue;
    const std::string_view rest = candidate.substr(known.name.size());
    std::uint32_t value = known.unless;
    if (!rest.empty()) {
      if (known.setting == nullptr || rest.front() != ':') continue;
      const auto given = parameter(rest.substr(1), known.parameter, known.least);
      if (!given) break;
      value = *given;
    }
    StockSchedule out;
    out.name_ = candidate;
    out.ranks_ = ranks;
    out.kind_ = known.kind;
    out.transfer_ = candidate.starts_with("mpich") ? kMpich : kOpenMpi;
    if (known.setting != nullptr) out.*known.setting = value;
    if (out.window_ + 1 >= ranks) out.window_ = 0;
    if (out.kind_ == Kind::kXor && !std::has_single_bit(ranks)) out.kind_ = Kind::kShift;
    return out;
  }
  return base::bad_input(
      fmt::format("algorithm `{}` is none of an MPI library; expected openmpi:linear, "
                  "openmpi:linear-sync[:reqs=N], openmpi:pairwise, openmpi:bruck, "
                  "mpich:scattered[:throttle=N], mpich:pairwise, mpich:bruck[:k=N] or query",
                  candidate));
}

std::uint32_t StockSchedule::rounds() const {
  switch (kind_) {
    case Kind::kLinear:
      return batch_ == 0 ? 1 : (ranks_ + batch_ - 1) / batch_;
    case Kind::kShift:
    case Kind::kXor:
      return ranks_ - 1;
    case Kind::kQuery:
      return 1;
    case Kind::kBruck:
      break;
  }
  std::uint32_t count = 0;
  for (std::uint64_t distance = 1; distance < ranks_; distance *= radix_) ++count;
  return count;
}

StockRound StockSchedule::round(std::uint32_t rank, std::uint32_t number) const {
  const std::uint32_t step = number + 1;
  switch (kind_) {
    case Kind::kLinear:
      return linear(rank, number);
    case Kind::kShift:
      return {{{(rank + step) % ranks_}}, {(rank + ranks_ - step) % ranks_}};
    case Kind::kXor:
      return {{{rank ^ step}}, {rank ^ step}};
    case Kind::kQuery: {
      StockRound out;
      for (std::uint32_t from = 0; from < ranks_; ++from) {
        if (from != rank) out.receives.push_back(from);
      }
      return out;
    }
    case Kind::kBruck:
      break;
  }
  return bruck(rank, number);
}

StockRound StockSchedule::linear(std::uint32_t rank, std::uint32_t number) const {
  StockRound out;
  const std::uint32_t each = batch_ == 0 ? ranks_ : batch_;
  const std::uint32_t end = std::min(ranks_, (number + 1) * each);
  // A batch counts the rank itself, which is at distance 0.
  for (std::uint32_t i = std::max(1u, number * each); i < end; ++i) {
    out.receives.push_back((rank + i) % ranks_);
    out.sends.push_back({(rank + ranks_ - i) % ranks_});
  }
  return out;
}

StockRound StockSchedule::bruck(std::uint32_t rank, std::uint32_t number) const {
  std::uint64_t place = 1;
  for (std::uint32_t i = 0; i < number; ++i) place *= radix_;
  StockRound out;
  for (std::uint64_t digit = 1; digit < radix_ && digit * place < ranks_; ++digit) {
    std::uint32_t blocks = 0;
    for (std::uint64_t far = 1; far < ranks_; ++far) blocks += far / place % radix_ == digit;
    const auto distance = static_cast<std::uint32_t>(digit * place);
    out.sends.push_back({(rank + distance) % ranks_, blocks});
    out.receives.push_back((rank + ranks_ - distance) % ranks_);
  }
  return out;
}

}  // namespace alm::model
