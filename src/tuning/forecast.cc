#include "tuning/forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/exchange_shape.h"
#include "tuning/way_key.h"

namespace alm::tuning {
namespace {

// The shape of a plan in several phases takes O(hosts^2) to make. Beyond this, samples and fits
// alone tell of it.
constexpr std::uint32_t kShapeHostsMax = 256;
// How a plan is made tells what the links need. The work of the hosts has to be measured: for
// smaller blocks it counts for more.
constexpr std::uint64_t kByLinksBytesMin = 8 << 10;

base::Nanos nanos(double seconds) {
  return std::max<base::Nanos>(1, std::llround(seconds * static_cast<double>(base::kSecond)));
}

// "openmpi", "mpich", as `allemande bench` names libraries; empty: neither.
std::string_view library_name(std::string_view mpi) {
  if (mpi.starts_with("Open MPI")) return "openmpi";
  return mpi.starts_with("MPICH") ? "mpich" : "";
}

}  // namespace

std::string_view family_of(std::string_view key) { return key.substr(0, key.find('@')); }

base::Result<model::ExchangeShape> shape_of(const plan::Plan& plan, const plan::LeafOf& leaves,
                                            std::span<const std::uint32_t> sites,
                                            const plan::Tuning* tuning, bool combined) {
  plan::Request request{.ranks = plan.ranks,
                        .algorithm = plan.algorithm,
                        .permutation = plan.permutation,
                        .leaf_of = leaves,
                        .site_of = {sites.begin(), sites.end()},
                        .combined = combined};
  const auto named = plan::parse_named(family_of(plan.identity));
  if (!named && !combined) return named.error();
  if (named) request.shape = named.value().shape;
  auto shape = plan::shape_of(request);
  if (shape && shape.value().coordinated && tuning != nullptr) {
    shape.value().window_packets = tuning->window_packets;
    shape.value().single_window_packets = tuning->single_window_packets;
    shape.value().burst_packets = tuning->burst_packets;
  }
  return shape;
}

std::vector<std::string> candidates_of(std::string_view key, std::string_view mpi) {
  const std::string library(library_name(mpi));
  if (key.starts_with(kOverUdp)) {
    const std::string algorithm(family_of(key.substr(kOverUdp.size())));
    // Over UDP it is all the same by which library the program was started.
    std::vector<std::string> names;
    for (const std::string_view name : {"openmpi", "mpich"}) {
      names.push_back("allemande+" + std::string(name) + ":algorithm=" + algorithm);
      if (name == library) std::rotate(names.begin(), names.end() - 1, names.end());
    }
    return names;
  }
  if (library.empty()) return {};
  if (key == kLibrary) return {library};
  if (key.starts_with(kToldLibrary)) return {library + std::string(key.substr(kLibrary.size()))};
  // Messages in the order of one of the library's algorithms take about as long as that.
  constexpr std::pair<std::string_view, std::string_view> kAlike[] = {
      {"mpi pairwise", ":pairwise"}, {"mpi bruck", ":bruck"},   {"mpi all", ":linear"},
      {"mpi few", ":linear-sync"},   {"mpi few", ":scattered"},
  };
  std::vector<std::string> names;
  for (const auto& [way, algorithm] : kAlike) {
    if (way == key) names.push_back(library + std::string(algorithm));
  }
  return names;
}

bool Forecast::covers(const model::Profile& profile, std::span<const std::string> hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return std::find(profile.hosts.begin(), profile.hosts.end(), host) != profile.hosts.end();
  });
}

Forecast::Forecast(const model::Profile& profile, std::span<const std::string> hosts,
                   std::span<const std::uint32_t> sites)
    : profile_(profile), predictor_(profile, hosts), sites_(sites.begin(), sites.end()) {}

void Forecast::add(const plan::Plan& plan, const plan::LeafOf& leaves, const plan::Tuning* tuning) {
  if (plan.phases.size() > 1 && plan.ranks > kShapeHostsMax) return;
  if (auto shape = shape_of(plan, leaves, sites_, tuning)) {
    shapes_.insert_or_assign(key_over_udp(plan.identity), std::move(shape).value());
  }
}

Foreseen Forecast::of(std::string_view key, std::uint64_t bytes) const {
  const std::string name = name_of(key);
  const bool measured = predictor_.speaks_of(name);
  if (bytes < kByLinksBytesMin && sites_.empty() && !measured) return {};
  const auto shape = shapes_.find(key);
  const auto found =
      predictor_.predict(name, bytes, shape == shapes_.end() ? nullptr : &shape->second);
  if (!found || !(found->time_s > 0)) return {};
  return {nanos(found->time_s), nanos(found->low_s), nanos(found->high_s), measured};
}

// By which the profile knows the way. One of ours first by itself: what `bench` calls
// algorithm=multi-site is another way for small blocks. The library's by candidates first: a
// profile may hold what was measured with several MPI libraries, each of which is `library`.
std::string Forecast::name_of(std::string_view key) const {
  if (key.starts_with(kOverUdp) && predictor_.speaks_of(key)) return std::string(key);
  for (const std::string& name : candidates_of(key, profile_.mpi)) {
    if (predictor_.speaks_of(name)) return name;
  }
  return std::string(key);
}

}  // namespace alm::tuning
