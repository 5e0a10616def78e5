#include <fmt/core.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "model/onset.h"
#include "model/predictor.h"
#include "model/profile.h"
#include "model/signature.h"
#include "model/structural.h"
#include "tuning/own_ways.h"
#include "tuning/way_key.h"
#include "wire/header.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using model::ExchangeShape;
using model::Prediction;
using model::Profile;
using tuning::NamedWay;

std::string_view text_of(model::Basis basis) {
  switch (basis) {
    case model::Basis::kMeasured:
      return "measured";
    case model::Basis::kFitted:
      return "fitted";
    case model::Basis::kExtrapolated:
      break;
  }
  return "extrapolated";
}

// `what` there are as many of as ranks should be.
void expect_ranks(const ExchangeShape& shape, std::size_t ranks, std::string_view what) {
  if (shape.ranks == ranks) return;
  throw RaisedError{base::bad_input(
      fmt::format("the shape is of {} ranks; expected one of {}, as many as there are {}",
                  shape.ranks, ranks, what))};
}

// With the profile it reads from.
class PyPredictor {
 public:
  PyPredictor(std::shared_ptr<Profile> profile, const std::vector<std::string>& members)
      : profile_(std::move(profile)), predictor_(*profile_, known(*profile_, members)) {}

  const model::Predictor& get() const { return predictor_; }
  std::optional<Prediction> predict(std::string_view key, std::uint64_t bytes,
                                    const ExchangeShape* shape) const {
    if (shape != nullptr) expect_ranks(*shape, predictor_.ranks(), "members");
    return predictor_.predict(key, bytes, shape);
  }

 private:
  // The members, all of which the profile has.
  static std::vector<std::string> known(const Profile& profile, std::vector<std::string> members) {
    for (const std::string& name : members) {
      if (std::find(profile.hosts.begin(), profile.hosts.end(), name) == profile.hosts.end()) {
        throw RaisedError{base::bad_input(
            fmt::format("the profile has no host {}; expected hosts of the profile", name))};
      }
    }
    return members;
  }

  std::shared_ptr<Profile> profile_;
  model::Predictor predictor_;
};

model::Demand demand(const topology::Cluster& cluster, const HostNames& members,
                     const ExchangeShape& shape, std::uint64_t bytes) {
  const auto hosts = participants(cluster, members);
  expect_ranks(shape, hosts.size(), "hosts");
  return model::demand_of(shape, model::LinkBound(cluster, hosts, wire::kHeaderBytes), bytes);
}

std::vector<NamedWay> own_ways(const topology::Cluster& cluster, const HostNames& members) {
  return value_or_raise(tuning::named_ways(cluster, participants(cluster, members)));
}

std::string usual_way(const topology::Cluster& cluster, const HostNames& members,
                      std::uint64_t bytes) {
  const auto ways = value_or_raise(tuning::usual_ways(cluster, participants(cluster, members)));
  return ways.key_of(ways.first(bytes));
}

void bind_parts(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "A profile as the models read it (docs/profile.md).")
      .def_ro("hosts", &Profile::hosts, "In rank order.")
      .def_ro("cluster", &Profile::cluster, "The network as found; None: unknown.");
  nb::class_<Prediction>(m, "Prediction", "Seconds of the slowest rank.")
      .def_ro("time_s", &Prediction::time_s)
      .def_ro("low_s", &Prediction::low_s, "low_s to high_s holds nine times in ten.")
      .def_ro("high_s", &Prediction::high_s)
      .def_prop_ro(
          "basis", [](const Prediction& p) { return text_of(p.basis); },
          "measured, fitted or extrapolated");
  nb::class_<ExchangeShape>(m, "ExchangeShape",
                            "What an exchange puts on the network, of all ranks.")
      .def_ro("ranks", &ExchangeShape::ranks)
      .def_prop_ro(
          "phases", [](const ExchangeShape& c) { return c.phases.size(); }, "How many.")
      .def_prop_ro("rounds", &ExchangeShape::round_count, "How many, of all phases.");
}

void bind_two_sites(nb::module_& m) {
  using model::Signature;
  using model::TwoSites;
  nb::class_<Signature>(m, "Signature", "Eq 5 of paper 003.")
      .def(
          "__init__",
          [](Signature* self, double alpha, double beta, double gamma, double delta,
             double threshold) {
            new (self) Signature{{alpha, beta}, gamma, delta, threshold};
          },
          "alpha"_a, "beta"_a, "gamma"_a = 1.0, "delta"_a = 0.0, "threshold"_a = 0.0);
  nb::class_<TwoSites>(m, "TwoSites", "Two sites of n1 <= n2 hosts, and what joins them.")
      .def(
          "__init__",
          [](TwoSites* self, std::uint32_t n1, std::uint32_t n2, const Signature& site,
             double alpha, double beta, double link_beta) {
            if (n1 == 0 || n1 > n2) throw RaisedError{base::bad_input("expected 1 <= n1 <= n2")};
            new (self) TwoSites{n1, n2, site, site, {alpha, beta}, link_beta};
          },
          "n1"_a, "n2"_a, "site"_a, "alpha"_a, "beta"_a, "link_beta"_a,
          "alpha, beta: of one message between the sites; link_beta: seconds per byte on the link "
          "that all share.")
      .def("naive_s", &model::naive_sites_s, "bytes"_a, "Eq 6 of paper 003.")
      .def("local_group_printed_s", &model::local_group_printed_s, "bytes"_a, "Eq 7 as printed.")
      .def("local_group_s", &model::local_group_s, "bytes"_a,
           "The same with the true largest message between the sites.")
      .def("local_group_corrected_s", &model::local_group_corrected_s, "bytes"_a,
           "And with the true messages within the sites.")
      .def("local_group_overlapped_s", &model::local_group_overlapped_s, "bytes"_a,
           "Ours: what crosses does so at the same time.")
      .def("multi_site_s", &model::multi_site_s, "bytes"_a, "Ours, of multi-site.");
}

}  // namespace

void bind_model(nb::module_& m) {
  using model::Demand;
  bind_parts(m);
  bind_two_sites(m);
  nb::class_<Demand>(m, "Demand", "What a shape asks of the idle network, in seconds.")
      .def_ro("links_s", &Demand::links_s, "The least time the links allow for each phase.")
      .def_ro("turns_s", &Demand::turns_s, "For each round: the last packet's time after its host.")
      .def_prop_ro("work_s", &Demand::work_s, "What the links do, at that pace and in those steps.")
      .def_ro("packets", &Demand::packets, "Those of the rank that sends most.")
      .def_ro("rounds", &Demand::rounds);
  m.def("demand", demand, "cluster"_a, "members"_a.none(), "shape"_a, "bytes"_a,
        "The demand of blocks of `bytes` in our packets, among these hosts (None: all).");
  m.def(
      "expected",
      [](const Demand& of, const ExchangeShape& shape) {
        const model::Expected said = model::expected(of, shape);
        return std::pair(said.seconds, said.sigma);
      },
      "demand"_a, "shape"_a,
      "Seconds where nothing was measured, and the deviation of the logarithm of what it takes.");
  m.def(
      "saturation_onset",
      [](const topology::Cluster& cluster, const HostNames& hosts) {
        return model::saturation_onset(cluster, participants(cluster, hosts));
      },
      "cluster"_a, "hosts"_a.none() = nb::none(),
      "How many of these hosts, in this order, it takes until links between switches are the "
      "limit; "
      "None: they never are.");
  nb::class_<NamedWay>(m, "OwnWay", "A way that allemande carries out itself.")
      .def_ro("algorithm", &NamedWay::algorithm, "As `allemande simulate` takes it.")
      .def_ro("key", &NamedWay::key, "As decision files have it: 'udp grid:8x4'.")
      .def_ro("shape", &NamedWay::shape)
      .def("takes", &NamedWay::takes, "bytes"_a,
           "Whether the algorithm goes this way for blocks of so many bytes.");
  m.attr("OVER_UDP") = std::string(tuning::kOverUdp);  // begins the keys of such ways
  m.def("own_ways", own_ways, "cluster"_a, "members"_a.none() = nb::none(),
        "All that allemande may take among these hosts (None: all).");
  m.def(
      "parse_profile",
      [](std::string_view text, std::string_view name) {
        return std::make_shared<Profile>(value_or_raise(model::parse_profile(text, name)));
      },
      "text"_a, "source_name"_a, "Reads and checks a profile; the name is for messages.");
  nb::class_<PyPredictor>(m, "Predictor", "What ways take among these hosts of a profile.")
      .def(nb::init<std::shared_ptr<Profile>, const std::vector<std::string>&>(), "profile"_a,
           "members"_a)
      .def("predict", &PyPredictor::predict, "key"_a, "bytes"_a, "shape"_a.none() = nb::none(),
           "None: the profile says nothing of such a way. `key`: of a way or a candidate.")
      .def(
          "limit_s",
          [](const PyPredictor& self, std::uint64_t bytes) { return self.get().limit_s(bytes); },
          "bytes"_a, "What the links allow; None without a cluster.")
      .def(
          "latency_s", [](const PyPredictor& self) { return self.get().latency_s(); },
          "The longest route's latency, by its links alone; None without a cluster.");
  m.def("usual_way", usual_way, "cluster"_a, "members"_a.none(), "bytes"_a,
        "The key of the way that allemande takes by itself, before any trial.");
}

}  // namespace alm::bindings
