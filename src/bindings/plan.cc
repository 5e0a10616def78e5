#include "plan/plan.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/bindings.h"
#include "plan/tune.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using plan::Plan;
using Ranks = std::vector<std::uint32_t>;

Ranks slice(const Ranks& ranks, const std::vector<std::uint32_t>& begin, std::size_t round) {
  return {ranks.begin() + begin[round], ranks.begin() + begin[round + 1]};
}

std::vector<std::pair<Ranks, Ranks>> rounds_of(const plan::Phase& phase) {
  base::Rounds made = phase.rounds;
  for (auto* peers : {&made.send, &made.recv}) {
    for (base::PeerId& peer : *peers) peer = phase.rank_of(peer).value;
  }
  std::vector<std::pair<Ranks, Ranks>> out;
  for (std::size_t round = 0; round < made.count(); ++round) {
    out.emplace_back(slice(made.send, made.send_begin, round),
                     slice(made.recv, made.recv_begin, round));
  }
  return out;
}

using BlockNames = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // (origin, destination)
using Messages = std::vector<std::pair<std::uint32_t, BlockNames>>;  // by the rank at the other end
enum class End : std::uint8_t { kSender, kReceiver };

Messages messages_of(const plan::Phase& phase, End end) {
  Messages out;
  plan::Move direct;
  const bool sent = end == End::kSender;
  const std::vector<base::PeerId>& peers = sent ? phase.rounds.send : phase.rounds.recv;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    auto& [peer, blocks] = out.emplace_back(phase.rank_of(peers[i]).value, BlockNames());
    for (const plan::Move& move : sent ? phase.sends(i, direct) : phase.receives(i, direct)) {
      blocks.emplace_back(move.origin.value, move.destination.value);
    }
  }
  return out;
}

// `what` of every phase, as a list.
template <class What>
auto by_phase(What what) {
  return [what](const Plan& p) {
    std::vector<decltype(what(p.phases.front()))> out;
    for (const plan::Phase& phase : p.phases) out.push_back(what(phase));
    return out;
  };
}

Plan make_plan(std::uint32_t ranks, std::uint32_t rank, std::string_view algorithm,
               std::string_view permutation, bool contention_aware, std::uint32_t omega,
               const std::vector<Ranks>& leaf_of, const Ranks& site_of) {
  auto named = value_or_raise(plan::parse_named(algorithm));
  return value_or_raise(
      plan::make_plan({.ranks = ranks,
                       .self = {rank},
                       .algorithm = named.algorithm,
                       .permutation = value_or_raise(plan::parse_permutation(permutation)),
                       .contention_aware = contention_aware,
                       .omega = omega,
                       .shape = std::move(named.shape),
                       .leaf_of = leaf_of,
                       .site_of = site_of}));
}

}  // namespace

void bind_plan(nb::module_& m) {
  using plan::Tuning;
  nb::class_<Tuning>(m, "Tuning", "What the transport takes from the cluster file.")
      .def_ro("nu", &Tuning::nu, "Packets per step towards the most contended port.")
      .def_ro("window_packets", &Tuning::window_packets, "The global window W_g in use.")
      .def_ro("window_with_acks", &Tuning::window_with_acks,
              "W_g if every packet were acknowledged by one.")
      .def_ro("single_window_packets", &Tuning::single_window_packets,
              "W_g where every block is a single packet; 0: as for others.")
      .def_ro("window_packets_min", &Tuning::window_packets_min,
              "What keeps a host busy that sends at full rate: L / g.")
      .def_ro("window_packets_max", &Tuning::window_packets_max,
              "Eq 4: a larger window may lose packets; 0: nothing is lost.")
      .def_ro("grain_packets", &Tuning::grain_packets, "Train length.")
      .def_ro("host_rate_mbit_s", &Tuning::host_rate_mbit_s, "The slowest host link.")
      .def_ro("packet_time_us", &Tuning::packet_time_us, "One full frame on that link.")
      .def_ro("mtu_bytes", &Tuning::mtu_bytes)
      .def_ro("latency_us", &Tuning::latency_us,
              "One full frame over the longest route through the idle network.")
      .def_ro("contended_port", &Tuning::contended_port, "The port that sets the window.")
      .def_ro("warnings", &Tuning::warnings, "Where window and network do not go together.");
  m.def(
      "tune",
      [](const topology::Cluster& cluster, const HostNames& hosts) {
        return plan::tune(cluster, participants(cluster, hosts));
      },
      "cluster"_a, "hosts"_a.none() = nb::none(),
      "Window and train length for an exchange among these hosts (None: all).");
  nb::class_<Plan>(m, "Plan", "What one rank sends and receives, in rounds.")
      .def_prop_ro("algorithm", [](const Plan& p) { return plan::name_of(p.algorithm); })
      .def_prop_ro(
          "permutation", [](const Plan& p) { return plan::name_of(p.permutation); },
          "The one used: pairwise and shift-exchange choose by themselves.")
      .def_ro("ranks", &Plan::ranks)
      .def_prop_ro("rank", [](const Plan& p) { return p.self.value; })
      .def_prop_ro(
          "interleaved", [](const Plan& p) { return p.rounds().interleaved; },
          "Packets to the partners of a round alternate; else block after block.")
      .def_ro("identity", &Plan::identity,
              "What decision files and logs know the plan by: 'grid:8x4'.")
      .def_prop_ro(
          "rounds", [](const Plan& p) { return rounds_of(p.phases.front()); },
          "Per round of the first phase the ranks to send to and the ranks to receive from, in "
          "step order.")
      .def_prop_ro(
          "phases",
          by_phase([](const plan::Phase& phase) { return messages_of(phase, End::kSender); }),
          "Per phase the messages this rank sends: to which rank, and the blocks in it, each as "
          "(origin, destination).")
      .def_prop_ro("phases_received", by_phase([](const plan::Phase& phase) {
                     return messages_of(phase, End::kReceiver);
                   }),
                   "The same of the messages this rank receives, in the order of the rounds.")
      .def_prop_ro("phase_rounds", by_phase(rounds_of),
                   "Per phase what `rounds` gives of the first one.")
      .def_prop_ro("phase_interleaved",
                   by_phase([](const plan::Phase& phase) { return phase.rounds.interleaved; }),
                   "Per phase what `interleaved` gives of the first one.");
  m.def("make_plan", make_plan, "ranks"_a, "rank"_a, "algorithm"_a = "sync-shuffle",
        "permutation"_a = "balanced", "contention_aware"_a = true, "omega"_a = 0,
        "group_of"_a = std::vector<Ranks>(), "site_of"_a = Ranks(),
        "The plan of one rank. group_of[l][r]: the group rank r is in at level l, as "
        "Cluster.schedule_hierarchy() gives it; empty: one switch. site_of[r]: the site of rank r, "
        "which "
        "local-group, coordinator and multi-site need.");
}

}  // namespace alm::bindings
