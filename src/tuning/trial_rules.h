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
  // The part of the time of all calls that trying may cost; with the costs that are not counted, 5
  // % of 200 calls.
  static constexpr double kBudget = 0.04;
  // The budget counts at least so many calls from the beginning, or nothing could ever be tried.
  static constexpr std::uint64_t kHorizon = 200;
  // A way that was slower in so many sightings has to be paid for by this many calls: more
  // sightings of it seldom change what is chosen.
  static constexpr std::size_t kDoubtless = 3;
  static constexpr std::uint64_t kSlowHorizon = 50;
  // Close to the limit the budget counts no more calls than fit this time: programs have few calls
  // of a second.
  static constexpr base::Nanos kSpan = 20 * base::kSecond;
  // An unseen way is expected to take so many times as long as the best, or as ways over the same
  // transport.
  static constexpr double kUnseen = 3;
  // The library's first call is expected to take so many times as long as its second.
  static constexpr double kWarming = 4;
  // The first call of a way may take so many times as long as later ones (measured: up to nine).
  static constexpr base::Nanos kFirstCall = 9;
  // A call over TCP whose packets overflow a queue waits for time-outs, of 200 ms at least each. So
  // many were found in one call.
  static constexpr base::Nanos kStall = 600 * base::kMillisecond;
  // Of a call that may wait so long, the shortest wait that is one.
  static constexpr base::Nanos shortest_stall(base::Nanos stall) { return stall / 3; }
  // Packets that a host sends at once, of which queues are expected to overflow. Of fewer they are
  // expected to do so in proportion.
  static constexpr double kOverflowing = 64;
  static constexpr std::uint64_t kHarmless = 4;  // so many fit any queue
  // After so many calls a burst shows whether queues hold what the library sends at once, and again
  // after so many times as many if packets were lost (bursts.h). It takes about three calls, and
  // the first calls of the library that follow take more: earlier, short programs pay for nothing.
  static constexpr std::uint64_t kFirstBurst = 64;
  static constexpr std::uint64_t kBurstGrowth = 16;
  // A burst has so many times the packets of a call. TCP sends an acknowledgement for each, which
  // takes a place in a queue, too: a network that lost nothing of as many packets made a call of
  // the library wait for 2.9 s.
  static constexpr std::uint32_t kBurstPackets = 2;
  // It has drained after so many times the best way's time. Where time-outs take no longer than
  // kBurstCost calls, it is not worth it.
  static constexpr double kBurstTime = 2.25;
  static constexpr double kBurstCost = 6;
  // So many of its calls while a communicator waited show what the library takes (library_calls.h).
  static constexpr std::uint64_t kWaitedCalls = 8;
  // MPI libraries combine blocks up to so many bytes: they send few packets at once.
  static constexpr std::uint64_t kCombinedBytes = 256;

  // --- How often a way is seen
  // The most sightings of a way. More have not changed a decision.
  static constexpr std::size_t kSightings = 24;
  static constexpr std::size_t kShortSightings = 32;  // for short calls, which vary more
  // Shorter calls are "short". They are slowed down by what another way has left behind:
  // acknowledgements, threads that still run, processes that the scheduler has moved (on busy hosts
  // by a half, for fifty calls). So they are seen in ever longer runs; the first half of a run does
  // not count, and only the latest run of a way counts.
  static constexpr base::Nanos kShort = 20 * base::kMillisecond;
  // Of ways whose packets may overflow queues so many in a row at most, after half as many calls
  // that do not count: when they begin to wait for time-outs, all of a run wait.
  static constexpr std::size_t kRunStalling = 4;
  // So many sightings of them in all are cold, and do not count once there are more.
  static constexpr std::size_t kWarmStalling = 8;
  // The first so many sightings of a way come one by one, later ones in ever longer batches,
  // because agreeing is a collective. The ranks agree after 1, 2, 3, 4, 6, 8, 12, 16 and 24
  // sightings of a way; for short calls after 1, 4, 8, 16 and 32.
  static constexpr std::size_t kOneByOne = 4;
  // One in so many sightings of a way does not count, the slowest: a late rank spoils it.
  static constexpr std::size_t kLeftOut = 8;
  static constexpr std::size_t kShortLeftOut = 4;
  // A way within kAsFast of the best needs no more than so many sightings.
  static constexpr std::size_t kSettled = 8;
  static constexpr double kAsFast = 1.05;

  // --- When a way is out
  // One sighting of so many times the best puts a way aside.
  static constexpr double kAside = 4;
  // A way is clearly behind if it takes `times` times as long as the best, after `sightings` of
  // both. Few sightings need a large gap: on busy hosts one call may take any time, because a
  // process was woken late.
  struct Behind {
    std::size_t sightings;
    double times;
  };
  static constexpr std::array<Behind, 6> kBehind = {
      {{2, 2}, {3, 1.6}, {4, 1.4}, {6, 1.25}, {8, 1.2}, {16, 1.1}}};
  static constexpr std::array<Behind, 5> kShortBehind = {
      {{2, 8}, {4, 2}, {8, 1.6}, {16, 1.25}, {32, 1.1}}};

  // --- What predictions change
  // While predictions hold, little is tried in a program's first kTrusting calls of a size: trying
  // may cost kBudget of kTrustedHorizon calls, 3 % of them.
  static constexpr std::uint64_t kTrusting = 20;
  static constexpr std::uint64_t kTrustedHorizon = 15;
  // Predictions hold while the ratios of seen to predicted times differ by no more than this
  // factor.
  static constexpr double kSurprise = 2;
  // A busy host makes calls twice as long. A prediction that is off by more than this factor is of
  // another network or another day.
  static constexpr double kFarOff = 3;

  // --- What is chosen
  // The place of the library's own way among the candidates, unless set otherwise.
  static constexpr std::size_t kLibrarys = 1;
  // A preferred way is kept unless another takes less than this part of its time.
  static constexpr double kClearly = 0.97;
  // A way within this factor of what the links need is kept at once: no other can be clearly
  // faster.
  static constexpr double kAtLimit = 1.05;
  // Within this factor so little can be gained that the budget counts kSpan at most.
  static constexpr double kNearLimit = 1.25;
  // A way that takes less than this part of what the links need shows that the cluster file is
  // wrong.
  static constexpr double kImpossible = 0.95;
  // So much less that no clock or late rank explains it: the file is said to be wrong.
  static constexpr double kRefuted = 0.8;

  // --- What happens after a decision
  // The ranks compare at calls 64, 256, 1024, ...: often enough to see drift, too rarely to cost.
  static constexpr std::uint64_t kFirstLook = 64;
  static constexpr std::uint64_t kLookGrowth = 4;
  // Up to the first of these they compare after every so many calls of a way whose packets may
  // overflow queues: it may have been seen in a lucky moment, and waits in every call after that.
  static constexpr std::uint64_t kLookStalling = 4;
  // A way that takes so many times as long as at the decision has drifted.
  static constexpr double kDrift = 1.5;
  // So many sightings of the chosen way confirm or refute drift.
  static constexpr std::ptrdiff_t kConfirming = 8;
  // The same for a decision of an earlier job, which may be of another network or day: the ranks
  // compare at its first timed call. A long call beyond kAside has all tried anew at once. Short
  // calls are compared once more when they are no longer cold.
  static constexpr std::uint64_t kFirstLookAdopted = 1;
  static constexpr std::uint64_t kSecondLookAdopted = 6;
  // So few confirm it, or that a way waits for time-outs: each call may take seconds.
  static constexpr std::ptrdiff_t kConfirmingDear = 2;
  // A new call has the weight 1 / kSmoothing in the smoothed time.
  static constexpr base::Nanos kSmoothing = 16;
  // The smoothed time counts after so many calls.
  static constexpr std::uint64_t kSettling = 16;
  // A call counts as at most so many times the chosen way's time: one slow call is no drift.
  static constexpr base::Nanos kSpike = 4;
};

}  // namespace alm::tuning
