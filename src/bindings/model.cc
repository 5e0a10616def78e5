#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "model/predictor.h"
#include "model/profile.h"
#include "model/structural.h"
#include "plan/course.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using model::Course;
using model::Prediction;
using model::Profile;

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

// With the profile it reads from.
class PyPredictor {
 public:
  PyPredictor(std::shared_ptr<Profile> profile, const std::vector<std::string>& members)
      : profile_(std::move(profile)), predictor_(*profile_, members) {}

  const model::Predictor& get() const { return predictor_; }

 private:
  std::shared_ptr<Profile> profile_;
  model::Predictor predictor_;
};

Course make_course(std::uint32_t ranks, std::string_view algorithm, std::string_view permutation,
                   bool contention_aware, std::uint32_t omega, const plan::LeafOf& leaf_of) {
  auto named = value_or_raise(plan::parse_named(algorithm));
  return value_or_raise(
      plan::course_of({.ranks = ranks,
                       .self = {0},
                       .algorithm = named.algorithm,
                       .permutation = value_or_raise(plan::parse_permutation(permutation)),
                       .contention_aware = contention_aware,
                       .omega = omega,
                       .shape = std::move(named.shape),
                       .leaf_of = leaf_of}));
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
  nb::class_<Course>(m, "Course", "What an exchange puts on the network, of all ranks.")
      .def_ro("ranks", &Course::ranks)
      .def_prop_ro(
          "phases", [](const Course& c) { return c.phases.size(); }, "How many.")
      .def_prop_ro("rounds", &Course::round_count, "How many, of all phases.");
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_parts(m);
  m.def(
      "parse_profile",
      [](std::string_view text, std::string_view name) {
        return std::make_shared<Profile>(value_or_raise(model::parse_profile(text, name)));
      },
      "text"_a, "source_name"_a, "Reads and checks a profile; the name is for messages.");
  m.def("make_course", make_course, "ranks"_a, "algorithm"_a, "permutation"_a = "balanced",
        "contention_aware"_a = true, "omega"_a = 0, "group_of"_a = plan::LeafOf(),
        "The course of an algorithm; arguments as of make_plan.");
  nb::class_<PyPredictor>(m, "Predictor", "What ways take among these hosts of a profile.")
      .def(nb::init<std::shared_ptr<Profile>, const std::vector<std::string>&>(), "profile"_a,
           "members"_a)
      .def(
          "predict",
          [](const PyPredictor& self, std::string_view key, std::uint64_t bytes,
             const Course* course) { return self.get().predict(key, bytes, course); },
          "key"_a, "bytes"_a, "course"_a.none() = nb::none(),
          "None: the profile says nothing of such a way. `key`: of a way or a candidate.")
      .def(
          "limit_s",
          [](const PyPredictor& self, std::uint64_t bytes) { return self.get().limit_s(bytes); },
          "bytes"_a, "What the links allow; None without a cluster.");
}

}  // namespace alm::bindings
