#include "model/predictor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "model/structural.h"

namespace alm::model {
namespace {

constexpr double kNormal90 = 1.6448536269514722;  // 90 % of a normal lie within so many deviations
constexpr double kSigmaUnseen = 0.35;             // of the logarithm, where nothing was measured
constexpr double kSigmaLeast = 0.02;
constexpr double kSigmaPerOctave = 0.1;     // for each doubling beyond what was measured
constexpr std::uint32_t kHeaderBytes = 24;  // of ours, in each packet

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// "udp sync-shuffle@balanced" -> "udp sync-shuffle": how partners are permuted is left out.
std::string_view family_of(std::string_view key) { return key.substr(0, key.find('@')); }

Prediction around(double time, double sigma, Basis basis) {
  const double factor = std::exp(kNormal90 * std::max(sigma, kSigmaLeast));
  return {time, time / factor, time * factor, basis};
}

double octaves_outside(double value, double least, double most) {
  if (value < least) return std::log2(least / value);
  return value > most ? std::log2(value / most) : 0;
}

}  // namespace

struct Predictor::State {
  const Profile& profile;
  std::vector<std::string> members;
  std::vector<base::HostId> hosts;
  std::optional<LinkBound> links;
  HostCosts costs;

  State(const Profile& of, std::vector<std::string> names)
      : profile(of), members(std::move(names)) {
    if (profile.cluster) {
      for (const std::string& name : members) hosts.push_back(*profile.cluster->find_host(name));
      links.emplace(*profile.cluster, hosts);
    }
    read_costs();
  }

  void read_costs() {
    const auto most = [&](std::string_view name) {
      double value = 0;
      for (const Level level : {Level::kLeaf, Level::kAcross}) {
        if (const auto found = parameter(profile, name, level, Carrier::kUdp)) {
          value = std::max(value, found->value);
        }
      }
      return value;
    };
    costs.send = most("o_s");
    costs.receive = most("o_r") + most("u_r");
    costs.gap = std::max(most("g_s"), most("g_r"));
    costs.latency = most("latency") + most("latency_per_host") * static_cast<double>(ranks());
  }

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(members.size()); }

  bool same_way(std::string_view candidate, std::string_view way, std::string_view key) const {
    return key == candidate || (!way.empty() && family_of(way) == family_of(key));
  }

  // Seconds that any time of this size is compared with, so that what lies between two sizes can be
  // told from both: the structure of the way where it is known, else the links.
  std::optional<double> scale_s(std::uint64_t bytes, const Course* course) const {
    if (!links) return std::nullopt;
    if (!course) return links->complete_seconds(bytes);
    const std::uint32_t payload = topology::payload_bytes(profile.cluster->framing) - kHeaderBytes;
    return structural_s(demand_of(*course, *links, bytes, payload), costs);
  }

  std::optional<Prediction> from_samples(std::string_view key, std::uint64_t bytes,
                                         const Course* course) const;
  std::optional<Prediction> from_fits(std::string_view key, std::uint64_t bytes,
                                      const Course* course) const;
  double fitted_s(const Fit& fit, std::uint64_t bytes, const Course* course) const;
};

// Of the same members: the sample itself, or between those of the sizes around, on a logarithmic
// scale of sizes, measured in `scale_s`.
std::optional<Prediction> Predictor::State::from_samples(std::string_view key, std::uint64_t bytes,
                                                         const Course* course) const {
  std::map<std::uint64_t, std::vector<double>> times;
  for (const Sample& one : profile.samples) {
    if (one.members != members || !same_way(one.candidate, one.way, key)) continue;
    auto& list = times[one.bytes];
    list.insert(list.end(), one.times_s.begin(), one.times_s.end());
  }
  if (times.empty()) return std::nullopt;
  const auto logs_spread = [](const std::vector<double>& values) {
    double sum = 0;
    const double middle = std::log(median(values));
    for (const double value : values) sum += std::pow(std::log(value) - middle, 2);
    return values.size() < 2 ? 0.1 : std::sqrt(sum / static_cast<double>(values.size() - 1));
  };
  if (const auto exact = times.find(bytes); exact != times.end()) {
    return around(median(exact->second), logs_spread(exact->second), Basis::kMeasured);
  }
  const auto ratio = [&](const auto& at) {
    return std::log(median(at.second) / scale_s(at.first, course).value_or(1));
  };
  const double scale = scale_s(bytes, course).value_or(1);
  const auto above = times.lower_bound(bytes);
  if (above == times.begin() || above == times.end()) {
    const auto& nearest = above == times.end() ? *times.rbegin() : *above;
    const double beyond =
        octaves_outside(static_cast<double>(bytes), static_cast<double>(times.begin()->first),
                        static_cast<double>(times.rbegin()->first));
    const double sigma = logs_spread(nearest.second) + kSigmaPerOctave * beyond;
    return around(scale * std::exp(ratio(nearest)), sigma, Basis::kExtrapolated);
  }
  const auto& high = *above;
  const auto& low = *std::prev(above);
  const double part = std::log(static_cast<double>(bytes) / static_cast<double>(low.first)) /
                      std::log(static_cast<double>(high.first) / static_cast<double>(low.first));
  const double between = ratio(low) + part * (ratio(high) - ratio(low));
  const double sigma = std::max(logs_spread(low.second), logs_spread(high.second)) +
                       std::abs(ratio(high) - ratio(low)) * part * (1 - part);
  return around(scale * std::exp(between), sigma, Basis::kFitted);
}

double Predictor::State::fitted_s(const Fit& fit, std::uint64_t bytes, const Course* course) const {
  const auto& c = fit.coefficients;
  const double partners = ranks() - 1, block = static_cast<double>(bytes);
  if (fit.kind == FitKind::kSignature) {
    return partners * (c[0] + block * c[1] * c[2] + (block >= c[4] ? c[3] : 0));
  }
  const std::uint32_t payload = topology::payload_bytes(profile.cluster->framing) - kHeaderBytes;
  const Demand demand = demand_of(*course, *links, bytes, payload);
  return demand.rounds * c[0] + demand.rounds_s * c[1] + demand.packets * c[2];
}

// The fit whose numbers of hosts are nearest.
std::optional<Prediction> Predictor::State::from_fits(std::string_view key, std::uint64_t bytes,
                                                      const Course* course) const {
  const auto distance = [&](const Fit& fit) {
    return octaves_outside(ranks(), fit.hosts_least, fit.hosts_most);
  };
  const Fit* best = nullptr;
  for (const Fit& fit : profile.fits) {
    if (!same_way(fit.candidate, fit.way, key)) continue;
    if (fit.kind == FitKind::kStructural && (!links || !course)) continue;
    if (!best || distance(fit) < distance(*best)) best = &fit;
  }
  if (!best) return std::nullopt;
  const double beyond = distance(*best) + octaves_outside(static_cast<double>(bytes),
                                                          static_cast<double>(best->bytes_least),
                                                          static_cast<double>(best->bytes_most));
  const Basis basis = beyond > 0 ? Basis::kExtrapolated : Basis::kFitted;
  return around(fitted_s(*best, bytes, course), best->sigma + kSigmaPerOctave * beyond, basis);
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
                                             const Course* course) const {
  if (auto known = state_->from_samples(key, bytes, course)) return known;
  if (auto known = state_->from_fits(key, bytes, course)) return known;
  if (!course || !state_->links) return std::nullopt;
  return around(*state_->scale_s(bytes, course), kSigmaUnseen, Basis::kExtrapolated);
}

std::optional<double> Predictor::limit_s(std::uint64_t bytes) const {
  if (!state_->links) return std::nullopt;
  return state_->links->complete_seconds(bytes);
}

}  // namespace alm::model
