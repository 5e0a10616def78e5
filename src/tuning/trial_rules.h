// The figures that rule a trial (trial.h). They were found by measuring Open MPI and MPICH in the
// lab (docs/adr/0013-trials-of-several-ways.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace alm::tuning {

struct TrialRules {
  // --- What trying may cost
  // Part of all calls that trying may cost: with what is not reckoned, 5 % of 200 calls.
  static constexpr double kBudget = 0.04;
  // So many calls are taken as made from the beginning, or nothing could ever be tried.
  static constexpr std::uint64_t kHorizon = 200;
  // Close to the limit no more than this of calls is: programs have few calls that take a second.
  static constexpr base::Nanos kSpan = 20 * base::kSecond;
  // A way not yet seen is expected to take so many times as long as the best, or as its kin do.
  static constexpr double kUnseen = 3;
  // The library's first call is expected to take so many times as long as its second.
  static constexpr double kWarming = 4;

  // --- How often a way is seen
  // At most so often. More sightings have not changed a decision.
  static constexpr std::size_t kSightings = 24;
  static constexpr std::size_t kShortSightings = 32;  // of short calls, which vary more
  // Calls that take less are short. They are slowed down by what another way has left behind:
  // acknowledgements, threads that still run, processes that the scheduler has put elsewhere (half
  // as long again on busy hosts, for fifty calls). So they are seen in runs, ever longer, of which
  // the first half does not count; and a way is known by its latest run.
  static constexpr base::Nanos kShort = 20 * base::kMillisecond;
  // So many sightings of a way come one by one, later ones in ever longer batches: agreeing is a
  // collective. The ranks agree after 1, 2, 3, 4, 6, 8, 12, 16 and 24 sightings of a way, of short
  // calls after 1, 4, 8, 16 and 32.
  static constexpr std::size_t kOneByOne = 4;
  // Of the sightings of a way, one of so many is left out, the slowest: a late rank spoils it.
  static constexpr std::size_t kLeftOut = 8;
  static constexpr std::size_t kShortLeftOut = 4;
  // From so many sightings on, ways that are within kAsFast of the best need no more of them.
  static constexpr std::size_t kSettled = 8;
  static constexpr double kAsFast = 1.05;

  // --- When a way is out
  // From so many times the best on, one sighting puts a way aside.
  static constexpr double kAside = 4;
  // Clearly behind: so many times as long as the best, from so many sightings on. Few sightings
  // need a large gap: on busy hosts one call may take any time, because a process was woken late.
  struct Behind {
    std::size_t sightings;
    double times;
  };
  static constexpr std::array<Behind, 6> kBehind = {
      {{2, 2}, {3, 1.6}, {4, 1.4}, {6, 1.25}, {8, 1.2}, {16, 1.1}}};
  static constexpr std::array<Behind, 4> kShortBehind = {{{4, 2}, {8, 1.6}, {16, 1.25}, {32, 1.1}}};

  // --- What predictions change
  // As long as they hold, a program's first calls of a size are left alone: of so many, trying may
  // cost kBudget of kTrustedHorizon calls, 3 %.
  static constexpr std::uint64_t kTrusting = 20;
  static constexpr std::uint64_t kTrustedHorizon = 15;
  // They hold where the ways seen take alike so many times what was predicted, within this.
  static constexpr double kSurprise = 2;

  // --- What is chosen
  // Where the library's own way stands among the candidates, unless said otherwise.
  static constexpr std::size_t kLibrarys = 1;
  // The way preferred is kept unless another takes less than this part of its time.
  static constexpr double kClearly = 0.97;
  // A way within this of what the links need is kept at once: no other can be clearly faster.
  static constexpr double kAtLimit = 1.05;
  // Within this so little can be gained that no more than kSpan is spent on it.
  static constexpr double kNearLimit = 1.25;
  // What takes less than this part of what the links need has other links than was said.
  static constexpr double kImpossible = 0.95;

  // --- What happens after a decision
  // The ranks compare at calls 64, 256, 1024, ...: often enough to see drift, too rarely to cost.
  static constexpr std::uint64_t kFirstLook = 64;
  static constexpr std::uint64_t kLookGrowth = 4;
  // So many times as long as when it was decided is taken for drift.
  static constexpr double kDrift = 1.5;
  // So many sightings of the way chosen confirm or refute it.
  static constexpr std::ptrdiff_t kConfirming = 8;
  // Weight of the past in the smoothed time of a call: 1 in so many is the new one's.
  static constexpr base::Nanos kSmoothing = 16;
  // So many calls go by before the smoothed time counts.
  static constexpr std::uint64_t kSettling = 16;
  // A call that takes longer than so many times the chosen way's counts as that: one is no drift.
  static constexpr base::Nanos kSpike = 4;
};

}  // namespace alm::tuning
