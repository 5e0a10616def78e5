// For tests: hosts h0, h1, .. below two leaves, leaf0 and leaf1, that hang on a core.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "scenario/options.h"
#include "topology/cluster.h"

namespace alm::scenario {

inline topology::Cluster make_cluster(std::uint32_t hosts_of_leaf, bool lossless = false) {
  std::string text = fmt::format(
      "format = 1\nname = \"two-leaves\"\n[[switch]]\nname = \"leaf[0-1]\"\n{0}[[switch]]\n"
      "name = \"core\"\n{0}[[host]]\nname = \"h[0-{1}]\"\n",
      lossless ? "flow_control = \"back-pressure\"\n" : "", 2 * hosts_of_leaf - 1);
  const auto link = [&text](const std::string& from, const std::string& to, double rate) {
    text += fmt::format(
        "[[link]]\nfrom = \"{}\"\nto = \"{}\"\nrate_mbit_s = {}\nqueue_up_packets = 45\n"
        "queue_down_packets = 45\n",
        from, to, rate);
  };
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    link(fmt::format("h[{}-{}]", leaf * hosts_of_leaf, (leaf + 1) * hosts_of_leaf - 1),
         fmt::format("leaf{}", leaf), 100);
    link(fmt::format("leaf{}", leaf), "core", 200);
  }
  return topology::parse_cluster(text, "test").value();
}

// What is wrong with `given`, as the message has it; empty: nothing.
inline std::string refusal(const Table& given) {
  const auto read = read_options(given);
  return read ? "" : read.error().message;
}

inline Value whole(std::uint64_t value) { return {value}; }
inline Value text(std::string value) { return {std::move(value)}; }
inline Value list(List values) { return {std::move(values)}; }
inline Value table(Table values) { return {std::move(values)}; }

}  // namespace alm::scenario
