#include "model/predictor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include "model/library_rounds.h"
#include "model/structural.h"
#include "wire/header.h"

namespace alm::model {
namespace {

constexpr double kNormal90 = 1.6448536269514722;  // 90 % of a normal lie within so many deviations
constexpr double kSigmaLeast = 0.01;              // of the logarithm
constexpr double kSigmaOneCall = 0.05;            // a single call tells nothing of its spread,
                                                  // but where it was simulated: there is none
// For each doubling beyond the sizes, and beyond the numbers of hosts, that were measured.
constexpr double kSigmaPerSize = 0.08;
constexpr double kSigmaPerHosts = 0.15;
constexpr double kSigmaOfLibrary = 0.05;  // what its way leaves open between two sizes
// Between two sizes measured among the same hosts, this part of `doubt` remains: an exchange may
// lose packets where those of the measured sizes do not.
constexpr double kOpenBetweenSizes = 0.22;
// A fit's deviation is that of ways that are as certain as a shuffle with even steps. Others
// deviate more by so many times as their structure leaves open more than this.
constexpr double kSigmaOfFits = 0.02;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Standard deviation of the logarithms around that of the median.
double spread(const std::vector<double>& times, bool simulated) {
  if (times.size() < 2) return simulated ? 0 : kSigmaOneCall;
  const double middle = std::log(median(times));
  double sum = 0;
  for (const double time : times) sum += std::pow(std::log(time) - middle, 2);
  return std::sqrt(sum / static_cast<double>(times.size() - 1));
}

// "udp sync-shuffle@balanced" -> "udp sync-shuffle": how partners are permuted is left out.
std::string_view family_of(std::string_view key) { return key.substr(0, key.find('@')); }

Prediction around(double time, double sigma, Basis basis) {
  const double factor = std::exp(kNormal90 * std::max(sigma, kSigmaLeast));
  return {time, time / factor, time * factor, basis};
}

double octaves(double from, double to) { return std::abs(std::log2(to / from)); }

double octaves_outside(double value, double least, double most) {
  if (value < least) return octaves(value, least);
  return value > most ? octaves(value, most) : 0;
}

// The logarithm of measured over expected time, for a size that may lie between measured ones.
struct Ratio {
  double log = 0, sigma = 0;
  bool inside = true;  // the sizes measured enclose it
};

Ratio between(const Ratio& low, const Ratio& high, double part) {
  // How far the truth may lie from the straight line: at most in the middle.
  const double bend = std::abs(high.log - low.log) * part * (1 - part);
  return {low.log + part * (high.log - low.log), std::max(low.sigma, high.sigma) + bend,
          low.inside && high.inside};
}

double part_of(double value, double low, double high) {
  return std::log(value / low) / std::log(high / low);
}

// The samples of one way among the same hosts.
struct Group {
  const std::vector<std::string>* members = nullptr;
  bool simulated = false;
  std::map<std::uint64_t, std::vector<double>> times;  // by size

  double ranks() const { return static_cast<double>(members->size()); }

  // `scale_s`: the expected time of a size.
  // `doubt`: the deviation of times that the way's structure leaves open, between sizes and beyond.
  template <class Scale>
  Ratio ratio(std::uint64_t bytes, Scale scale_s, double doubt) const {
    const auto at = [&](const auto& entry) {
      return Ratio{std::log(median(entry.second) / scale_s(entry.first)),
                   spread(entry.second, simulated)};
    };
    const auto above = times.lower_bound(bytes);
    if (above != times.end() && above->first == bytes) return at(*above);
    const auto size = static_cast<double>(bytes);
    if (above == times.begin() || above == times.end()) {
      const auto& nearest = above == times.end() ? *times.rbegin() : *above;
      Ratio out = at(nearest);
      out.sigma += doubt + kSigmaPerSize * octaves(size, static_cast<double>(nearest.first));
      out.inside = false;
      return out;
    }
    const auto& low = *std::prev(above);
    Ratio out =
        between(at(low), at(*above),
                part_of(size, static_cast<double>(low.first), static_cast<double>(above->first)));
    out.sigma = std::max(out.sigma, kOpenBetweenSizes * doubt);
    return out;
  }
};

}  // namespace

struct Predictor::State {
  const Profile& profile;
  std::vector<std::string> members;
  std::optional<LinkBound> links, ours;  // with the least framing, and with that of our packets

  State(const Profile& of, std::vector<std::string> names)
      : profile(of), members(std::move(names)) {
    if (!profile.cluster) return;
    links.emplace(*profile.cluster, ids_of(members));
    ours.emplace(*profile.cluster, ids_of(members), wire::kHeaderBytes);
  }

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(members.size()); }

  std::vector<base::HostId> ids_of(std::span<const std::string> names) const {
    std::vector<base::HostId> out;
    for (const std::string& name : names) out.push_back(*profile.cluster->find_host(name));
    return out;
  }

  // "udp group-shuffle" of a sample stands for any shape: that which the library takes by itself.
  static bool same_way(std::string_view candidate, std::string_view way, std::string_view key) {
    if (key == candidate) return true;
    if (way.empty()) return false;
    const std::string_view family = family_of(key);
    return family_of(way) == family || way == family.substr(0, family.find(':'));
  }

  // What any time of this size is compared with, so that what lies between two sizes can be told
  // from both: the structure of the way where it is known, else the links.
  Expected scale(std::uint64_t bytes, const ExchangeShape* shape) const {
    if (!links) return {1, kSigmaOfLibrary};
    if (!shape) return {links->complete_seconds(bytes), kSigmaOfLibrary};
    return expected(demand_of(*shape, *ours, bytes), *shape);
  }

  std::vector<Group> groups_of(std::string_view key) const;
  std::optional<Prediction> from_samples(std::string_view key, std::uint64_t bytes,
                                         const ExchangeShape* shape) const;
  std::optional<Prediction> from_other_hosts(std::string_view key, std::uint64_t bytes) const;
  std::optional<Prediction> from_fits(std::string_view key, std::uint64_t bytes,
                                      const ExchangeShape* shape) const;
  double fitted_s(const Fit& fit, std::uint64_t bytes, const ExchangeShape* shape) const;
  // A signature fitted to samples of as many hosts alone: it knows better what lies between two
  // sizes than a straight line, which knows of no network. Fits of several numbers of hosts do not.
  bool has_own_signature(std::string_view key) const;
};

bool Predictor::State::has_own_signature(std::string_view key) const {
  return std::any_of(profile.fits.begin(), profile.fits.end(), [&](const Fit& fit) {
    return fit.kind == FitKind::kSignature && fit.hosts_least == ranks() &&
           fit.hosts_most == ranks() && same_way(fit.candidate, fit.way, key);
  });
}

std::vector<Group> Predictor::State::groups_of(std::string_view key) const {
  std::vector<Group> groups;
  for (const Sample& one : profile.samples) {
    if (!same_way(one.candidate, one.way, key)) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return *g.members == one.members; });
    if (group == groups.end())
      group = groups.insert(groups.end(), Group{&one.members, profile.simulated, {}});
    auto& times = group->times[one.bytes];
    times.insert(times.end(), one.times_s.begin(), one.times_s.end());
  }
  return groups;
}

std::optional<Prediction> Predictor::State::from_samples(std::string_view key, std::uint64_t bytes,
                                                         const ExchangeShape* shape) const {
  for (const Group& group : groups_of(key)) {
    if (*group.members != members) continue;
    const Expected here = scale(bytes, shape);
    const Ratio ratio = group.ratio(
        bytes, [&](std::uint64_t size) { return scale(size, shape).seconds; }, here.sigma);
    // How the time goes on beyond the sizes measured, a network tells, or a fit.
    if (!links && !ratio.inside) continue;
    const double time = here.seconds * std::exp(ratio.log);
    if (group.times.contains(bytes)) return around(time, ratio.sigma, Basis::kMeasured);
    return around(time, ratio.sigma, ratio.inside ? Basis::kFitted : Basis::kExtrapolated);
  }
  return std::nullopt;
}

// Ours beside 003 Eq 5: the time keeps its ratio to what the links allow, or to what they need for
// the rounds of the way where these are known. That knows from how many hosts on uplinks are the
// limit, which a signature does not. Between two numbers of hosts the ratio is drawn straight over
// the logarithm, beyond them it is that of the nearest.
std::optional<Prediction> Predictor::State::from_other_hosts(std::string_view key,
                                                             std::uint64_t bytes) const {
  if (!links) return std::nullopt;
  std::vector<Group> groups = groups_of(key);
  if (groups.empty()) return std::nullopt;
  const double p = ranks();
  const auto ratio_of = [&](const Group& group) {
    const LinkBound theirs(*profile.cluster, ids_of(*group.members));
    const double longer =
        rounds_over_complete(key, theirs, static_cast<std::uint32_t>(group.members->size()));
    const auto needed = [&](std::uint64_t size) { return longer * theirs.complete_seconds(size); };
    return group.ratio(bytes, needed, kSigmaOfLibrary);
  };
  const Group* below = nullptr;
  const Group* above = nullptr;
  for (const Group& group : groups) {
    if (group.ranks() <= p && (!below || group.ranks() > below->ranks())) below = &group;
    if (group.ranks() >= p && (!above || group.ranks() < above->ranks())) above = &group;
  }
  Ratio ratio;
  bool inside = below && above;
  if (inside && below->ranks() < above->ranks()) {
    ratio = between(ratio_of(*below), ratio_of(*above), part_of(p, below->ranks(), above->ranks()));
  } else {
    const Group& nearest = below ? *below : *above;
    ratio = ratio_of(nearest);
    ratio.sigma += kSigmaPerHosts * octaves(p, nearest.ranks());
  }
  inside = inside && ratio.inside;
  const double needed = rounds_over_complete(key, *links, ranks()) * links->complete_seconds(bytes);
  return around(needed * std::exp(ratio.log), ratio.sigma,
                inside ? Basis::kFitted : Basis::kExtrapolated);
}

double Predictor::State::fitted_s(const Fit& fit, std::uint64_t bytes,
                                  const ExchangeShape* shape) const {
  const auto& c = fit.coefficients;
  if (fit.kind == FitKind::kSignature) {
    const auto block = static_cast<double>(bytes);
    return (ranks() - 1) * (c[0] + block * c[1] * c[2] + (block >= c[4] ? c[3] : 0));
  }
  const Demand demand = demand_of(*shape, *ours, bytes);
  return c[0] + demand.rounds * c[1] + demand.packets * c[2] + demand.turns_s * c[3] +
         demand.work_s() * c[4];
}

// The fit whose numbers of hosts are nearest.
std::optional<Prediction> Predictor::State::from_fits(std::string_view key, std::uint64_t bytes,
                                                      const ExchangeShape* shape) const {
  const auto distance = [&](const Fit& fit) {
    return octaves_outside(ranks(), fit.hosts_least, fit.hosts_most);
  };
  const Fit* best = nullptr;
  for (const Fit& fit : profile.fits) {
    if (!same_way(fit.candidate, fit.way, key)) continue;
    if (fit.kind == FitKind::kStructural && (!ours || !shape)) continue;
    if (!best || distance(fit) < distance(*best)) best = &fit;
  }
  if (!best) return std::nullopt;
  const double sizes =
      octaves_outside(static_cast<double>(bytes), static_cast<double>(best->bytes_least),
                      static_cast<double>(best->bytes_most));
  const double hosts = distance(*best);
  const bool inside = sizes == 0 && hosts == 0;
  // A structure holds at other sizes and numbers, but for what was never seen there.
  const double trust = best->kind == FitKind::kStructural ? 0.2 : 1;
  const double open =
      best->kind == FitKind::kStructural ? scale(bytes, shape).sigma / kSigmaOfFits : 1;
  const double sigma =
      best->sigma * std::max(1.0, open) + trust * (kSigmaPerSize * sizes + kSigmaPerHosts * hosts);
  return around(fitted_s(*best, bytes, shape), sigma,
                inside ? Basis::kFitted : Basis::kExtrapolated);
}

Predictor::Predictor(const Profile& profile, std::span<const std::string> members)
    : state_(std::make_unique<State>(profile,
                                     std::vector<std::string>(members.begin(), members.end()))) {}

Predictor::Predictor(const Profile& profile, std::uint32_t ranks)
    : Predictor(
          profile,
          std::span(profile.hosts).first(std::min<std::size_t>(ranks, profile.hosts.size()))) {}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

std::uint32_t Predictor::ranks() const { return state_->ranks(); }

std::optional<Prediction> Predictor::predict(std::string_view key, std::uint64_t bytes,
                                             const ExchangeShape* shape) const {
  const auto sampled = state_->from_samples(key, bytes, shape);
  const bool measured = sampled && sampled->basis == Basis::kMeasured;
  if (sampled && (state_->links || measured || !state_->has_own_signature(key))) return sampled;
  if (!shape) {
    if (auto known = state_->from_other_hosts(key, bytes)) return known;
  }
  if (auto known = state_->from_fits(key, bytes, shape)) return known;
  if (!shape || !state_->ours) return std::nullopt;
  const Expected said = expected(demand_of(*shape, *state_->ours, bytes), *shape);
  return around(said.seconds, said.sigma, Basis::kExtrapolated);
}

bool Predictor::speaks_of(std::string_view key) const {
  const auto of_it = [&](const auto& one) { return State::same_way(one.candidate, one.way, key); };
  const Profile& profile = state_->profile;
  return std::any_of(profile.samples.begin(), profile.samples.end(), of_it) ||
         std::any_of(profile.fits.begin(), profile.fits.end(), of_it);
}

std::optional<double> Predictor::limit_s(std::uint64_t bytes) const {
  if (!state_->links) return std::nullopt;
  return state_->links->complete_seconds(bytes);
}

std::optional<double> Predictor::latency_s() const {
  if (!state_->links) return std::nullopt;
  return topology::latency_seconds(*state_->profile.cluster, state_->ids_of(state_->members));
}

}  // namespace alm::model
