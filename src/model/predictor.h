// Predicts the time of a way from a profile: measured where the profile has a sample of this very
// exchange, fitted between samples, extrapolated beyond them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/exchange_shape.h"
#include "model/profile.h"

namespace alm::model {

enum class Basis : std::uint8_t { kMeasured, kFitted, kExtrapolated };

// The time of the slowest rank. It lies between low and high nine times in ten.
struct Prediction {
  double time_s = 0, low_s = 0, high_s = 0;
  Basis basis = Basis::kExtrapolated;
};

class Predictor {
 public:
  // `members`: the hosts that take part, in rank order, one rank each; names of profile.hosts.
  Predictor(const Profile& profile, std::span<const std::string> members);
  // The first `ranks` of the profile, at most all.
  Predictor(const Profile& profile, std::uint32_t ranks);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  std::uint32_t ranks() const;

  // `key`: a way as decision files name it ("udp grid:8x4", "mpi pairwise", "library"), or a
  // candidate as `allemande bench` names it. `bytes`: per pair. `shape`: for ways that allemande
  // carries out itself; without it the prediction rests on samples and fits alone. Nothing: the
  // profile has no information on this way.
  std::optional<Prediction> predict(std::string_view key, std::uint64_t bytes,
                                    const ExchangeShape* shape = nullptr) const;
  // Whether the profile has a sample or a fit of this way or candidate.
  bool speaks_of(std::string_view key) const;
  // The limit of a complete exchange; nothing without a cluster.
  std::optional<double> limit_s(std::uint64_t bytes) const;
  // The longest route of a packet, by the latencies of its links alone; nothing without a cluster.
  std::optional<double> latency_s() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace alm::model
