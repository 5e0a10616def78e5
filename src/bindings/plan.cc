#include "plan/plan.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {

void bind_plan(nb::module_& m) {
  using plan::Tuning;
  nb::class_<Tuning>(m, "Tuning", "What the transport takes from the cluster file.")
      .def_ro("nu", &Tuning::nu, "Packets per step towards the most contended port.")
      .def_ro("window_packets", &Tuning::window_packets, "The global window W_g in use.")
      .def_ro("window_with_acks", &Tuning::window_with_acks,
              "W_g if every packet were acknowledged by one.")
      .def_ro("window_packets_min", &Tuning::window_packets_min,
              "A smaller window costs bandwidth.")
      .def_ro("grain_packets", &Tuning::grain_packets, "Train length.")
      .def_ro("host_rate_mbit_s", &Tuning::host_rate_mbit_s, "The slowest host link.")
      .def_ro("packet_time_us", &Tuning::packet_time_us, "One full frame on that link.")
      .def_ro("mtu_bytes", &Tuning::mtu_bytes)
      .def_ro("latency_us", &Tuning::latency_us,
              "One full frame over the longest way through the idle network.")
      .def_ro("contended_port", &Tuning::contended_port, "The port that sets the window.")
      .def_ro("warnings", &Tuning::warnings, "Where window and network do not go together.");
  m.def(
      "tune",
      [](const topology::Cluster& cluster, const HostNames& hosts) {
        return plan::tune(cluster, participants(cluster, hosts));
      },
      "cluster"_a, "hosts"_a.none() = nb::none(),
      "Window and train length for an exchange among these hosts (None: all).");
}

}  // namespace alm::bindings
