#include "topology/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <vector>

#include "base/hostlist.h"

namespace alm::topology {
namespace {

constexpr std::uint64_t kHostsMax = 65'536;
constexpr std::uint64_t kSwitchesMax = 65'536;
constexpr std::uint64_t kLinksMax = 2 * base::kHostlistMax;
constexpr std::uint32_t kLosslessQueuePackets = 32;  // in each input buffer
constexpr std::string_view kLossless = "lossless-";
constexpr std::string_view kIb144 = "ib-144";

// One kind of network: how its sizes are written, and an example.
struct Kind {
  std::string_view name, sizes, example;
  std::size_t numbers_min, numbers_max;
};
constexpr Kind kKinds[] = {
    {"fat-tree", "HOSTS", "fat-tree:128", 1, 1},
    {"leaf-spine", "HOSTSxLEAVESxSPINES", "leaf-spine:4x4x4", 3, 3},
    {"torus", "AxBx..", "torus:4x4x4", 1, 6},
    {"dragonfly", "HOSTSxROUTERSxGLOBAL", "dragonfly:2x4x2", 3, 3},
    {"shuffle-exchange", "HOSTS", "shuffle-exchange:8", 1, 1},
};

struct NameParts {
  bool lossless = false;
  std::string_view kind, sizes, options;
};

NameParts split_name(std::string_view name) {
  NameParts out;
  if (name.starts_with(kLossless)) {
    out.lossless = true;
    name.remove_prefix(kLossless.size());
  }
  const std::size_t comma = std::min(name.find(','), name.size());
  if (comma < name.size()) out.options = name.substr(comma + 1);
  name = name.substr(0, comma);
  const std::size_t colon = std::min(name.find(':'), name.size());
  out.kind = name.substr(0, colon);
  if (colon < name.size()) out.sizes = name.substr(colon + 1);
  return out;
}

const Kind* find_kind(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kKinds), std::end(kKinds),
                                      [&](const Kind& kind) { return kind.name == name; });
  return it == std::end(kKinds) ? nullptr : it;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "4x4x2", every number from 1 on; empty if it is anything else.
std::vector<std::uint32_t> numbers(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (true) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const auto value = number<std::uint32_t>(text.substr(0, end));
    if (!value || *value == 0 || *value > kHostsMax) return {};
    out.push_back(*value);
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

base::Error wrong(std::string_view name, const Kind& kind, std::string_view what) {
  return base::bad_input(fmt::format("`{}`: {}; expected {}:{}, for example {}", name, what,
                                     kind.name, kind.sizes, kind.example));
}

struct Options {
  Medium medium;
  std::uint32_t hosts_per_switch = 1;
};

base::Result<Options> read_options(std::string_view name, const NameParts& parts) {
  Options out;
  out.medium.lossless = parts.lossless;
  if (parts.lossless) out.medium.queue_packets = kLosslessQueuePackets;
  std::string_view rest = parts.options;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    const std::string_view text = item.substr(std::min(equals + 1, item.size()));
    const auto real = number<double>(text);
    const auto whole = number<std::uint32_t>(text);
    if (key == "rate_mbit_s" && real && *real > 0 && *real <= kRateMax) {
      out.medium.rate_mbit_s = *real;
    } else if (key == "latency_us" && real && *real >= 0 && *real <= 1e9) {
      out.medium.latency_us = *real;
    } else if (key == "queue_packets" && whole && *whole > 0 && *whole <= 10'000'000) {
      out.medium.queue_packets = *whole;
    } else if (key == "hosts" && parts.kind == "torus" && whole && *whole > 0 && *whole <= 1024) {
      out.hosts_per_switch = *whole;
    } else {
      return base::bad_input(
          fmt::format("`{}`: the option `{}` cannot be read; expected rate_mbit_s=RATE, "
                      "latency_us=TIME, queue_packets=NUMBER{}",
                      name, item, parts.kind == "torus" ? " or hosts=PER_SWITCH" : ""));
    }
  }
  return out;
}

// Hosts, switches and links that the sizes ask for, before anything is built.
struct Amount {
  std::uint64_t hosts = 0, switches = 0, links = 0;
  bool fits() const { return hosts <= kHostsMax && switches <= kSwitchesMax && links <= kLinksMax; }
};

Amount amount(const Kind& kind, const std::vector<std::uint32_t>& n, std::uint32_t per_switch) {
  if (kind.name == "leaf-spine") {
    const std::uint64_t hosts = std::uint64_t{n[0]} * n[1];
    return {hosts, std::uint64_t{n[1]} + n[2], hosts + std::uint64_t{n[1]} * n[2]};
  }
  if (kind.name == "torus") {
    std::uint64_t points = 1;
    for (const std::uint32_t side : n) points = std::min<std::uint64_t>(points * side, UINT32_MAX);
    return {points * per_switch, points, points * (n.size() + per_switch)};
  }
  if (kind.name == "dragonfly") {
    const std::uint64_t a = n[1], h = n[2], all = a * (a * h + 1);
    if (a > 4096 || h > 4096) return {UINT64_MAX, 0, 0};
    return {all * n[0], all, all * (n[0] + a / 2 + h)};
  }
  const std::uint64_t stages = std::bit_width(n[0]);
  return {n[0], n[0] + stages * n[0] / 2, n[0] * (stages + 2)};
}

}  // namespace

bool is_generated(std::string_view name) {
  const NameParts parts = split_name(name);
  return name == kIb144 || (!parts.lossless && parts.kind == "myrinet") ||
         find_kind(parts.kind) != nullptr;
}

std::string_view generated_forms() {
  return "fat-tree:HOSTS, leaf-spine:HOSTSxLEAVESxSPINES, torus:AxBx.., "
         "dragonfly:HOSTSxROUTERSxGLOBAL, shuffle-exchange:HOSTS (these also as lossless-..), "
         "ib-144, myrinet:BISECTION";
}

base::Result<Cluster> generate(std::string_view name) {
  if (name == kIb144) return build_ib_144();
  const NameParts parts = split_name(name);
  if (!parts.lossless && parts.kind == "myrinet" && parts.options.empty()) {
    return build_myrinet(parts.sizes);
  }
  const Kind* kind = find_kind(parts.kind);
  if (kind == nullptr) {
    return base::bad_input(
        fmt::format("no network is called `{}`; expected {}", name, generated_forms()));
  }
  const auto n = numbers(parts.sizes);
  if (n.size() < kind->numbers_min || n.size() > kind->numbers_max) {
    return wrong(name, *kind, fmt::format("`{}` are no sizes of it", parts.sizes));
  }
  const auto options = read_options(name, parts);
  if (!options) return options.error();
  const Medium& medium = options.value().medium;
  if (kind->name == "fat-tree") {
    if (n[0] < 2) return wrong(name, *kind, "too small");
    return build_fat_tree(n[0], medium);
  }
  if (!amount(*kind, n, options.value().hosts_per_switch).fits()) {
    return wrong(name, *kind,
                 fmt::format("more than {} hosts, {} switches or {} links", kHostsMax, kSwitchesMax,
                             kLinksMax));
  }
  if (kind->name == "leaf-spine") return build_leaf_spine(n[0], n[1], n[2], medium);
  if (kind->name == "torus") return build_torus(n, options.value().hosts_per_switch, medium);
  if (kind->name == "dragonfly") return build_dragonfly(n[0], n[1], n[2], medium);
  if (n[0] < 4 || !std::has_single_bit(n[0])) {
    return wrong(name, *kind, fmt::format("{} hosts are no power of two from 4 on", n[0]));
  }
  return build_shuffle_exchange(static_cast<std::uint32_t>(std::countr_zero(n[0])), medium);
}

}  // namespace alm::topology
