// For tests: leaves with hosts, each leaf linked to every spine. All links have one rate except
// those of one spine.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "plan/plan.h"
#include "topology/cluster.h"

namespace alm::harness {

struct LeafSpine {
  std::uint32_t hosts = 4, leaves = 2, spines = 4;  // hosts of each leaf
  double rate_mbit_s = 100;
  double slow_mbit_s = 100;  // of the links of the last spine
  bool lossless = false;
};

inline topology::Cluster make_leaf_spine(const LeafSpine& shape) {
  std::string text = fmt::format(
      "format = 1\nname = \"leaf-spine\"\n[[switch]]\nname = \"leaf[0-{}]\"\n{}"
      "[[switch]]\nname = \"spine[0-{}]\"\n{}[[host]]\nname = \"h[0-{}]\"\n",
      shape.leaves - 1, shape.lossless ? "flow_control = \"back-pressure\"\n" : "",
      shape.spines - 1, shape.lossless ? "flow_control = \"back-pressure\"\n" : "",
      shape.hosts * shape.leaves - 1);
  const auto link = [&text](const std::string& from, const std::string& to, double rate) {
    text += fmt::format(
        "[[link]]\nfrom = \"{}\"\nto = \"{}\"\nrate_mbit_s = {}\nqueue_up_packets = 45\n"
        "queue_down_packets = 45\n",
        from, to, rate);
  };
  for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
    link(fmt::format("h[{}-{}]", leaf * shape.hosts, (leaf + 1) * shape.hosts - 1),
         fmt::format("leaf{}", leaf), shape.rate_mbit_s);
    for (std::uint32_t spine = 0; spine < shape.spines; ++spine) {
      const bool slow = spine + 1 == shape.spines;
      link(fmt::format("leaf{}", leaf), fmt::format("spine{}", spine),
           slow ? shape.slow_mbit_s : shape.rate_mbit_s);
    }
  }
  auto cluster = topology::parse_cluster(text, "leaf-spine");
  if (!cluster) {
    ADD_FAILURE() << cluster.error().message;
    return {};
  }
  return std::move(cluster).value();
}

}  // namespace alm::harness
