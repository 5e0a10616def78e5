#include "model/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/toml.h"
#include "topology/cluster_table.h"
#include "topology/section.h"

namespace alm::model {
namespace {

using topology::Range;
using topology::Section;

constexpr std::int64_t kFormat = 1;
constexpr std::uint64_t kBytesMax = 1ull << 40;
constexpr std::uint32_t kRanksMax = 65535;
constexpr Range kSeconds{.low = 0, .high = 1e6};
constexpr Range kRate{.low = 0, .high = 1e9, .above_low = true};
constexpr Range kPackets{.low = 0, .high = 1e7};
constexpr Range kAny{.low = -1e300, .high = 1e300};
constexpr std::size_t kCoefficients[] = {5, 5};  // by FitKind

struct Quantity {
  std::string_view name, unit;
};

constexpr Quantity kQuantities[] = {
    {"alpha", "s"}, {"beta", "s/B"}, {"o_s", "s"},    {"o_r", "s"},
    {"u_r", "s"},   {"g_s", "s"},    {"g_r", "s"},    {"latency", "s"},
    {"gap", "s"},   {"jitter", "s"}, {"o_call", "s"}, {"latency_per_host", "s"},
};

class Parser {
 public:
  Parser(const toml::table& root, std::string_view file)
      : root_(root), file_(file), complaints_(file) {}

  base::Result<Profile> run() {
    read_top();
    if (complaints_.any()) return complaints_.first();
    if (const toml::node* node = root_.get("cluster")) {
      if (auto read = read_cluster(*node); !read) return read.error();
    }
    for_each("parameter", [&](Section section) { read_parameter(section); });
    for_each("link", [&](Section section) { read_link(section); });
    for_each("port", [&](Section section) { read_port(section); });
    for_each("sample", [&](Section section) { read_sample(section); });
    for_each("fit", [&](Section section) { read_fit(section); });
    if (complaints_.any()) return complaints_.first();
    return std::move(out_);
  }

 private:
  void read_top() {
    Section top(root_, "", complaints_);
    top.allow(
        {"format", "network", "cluster", "found", "parameter", "link", "port", "sample", "fit"});
    top.need("format", "format = 1");
    if (const toml::node* format = root_.get("format");
        format && format->value_exact<std::int64_t>() != kFormat) {
      top.complain("format", "is not supported", "format = 1");
    }
    if (const toml::table* network = table_at("network")) read_network(*network);
    top.need("network", "a table [network] that says what was measured");
    table_at("found");
  }

  // Nothing, with a complaint, for what is no table.
  const toml::table* table_at(std::string_view key) {
    const toml::node* node = root_.get(key);
    if (!node || node->is_table()) return node ? node->as_table() : nullptr;
    complaints_.add(node->source().begin.line, key, fmt::format("is {}", topology::describe(*node)),
                    fmt::format("a table [{}]", key));
    return nullptr;
  }

  void read_network(const toml::table& table) {
    Section network(table, "network", complaints_);
    network.allow({"hosts", "date", "version", "mpi", "mtu_bytes", "time_scale", "simulated"});
    network.need("hosts", "the hosts in rank order, as in h[0-31]");
    out_.hosts = network.names("hosts");
    if (out_.hosts.size() > kRanksMax) {
      network.complain("hosts", fmt::format("names {}", out_.hosts.size()),
                       fmt::format("at most {}", kRanksMax));
    }
    if (const toml::node* date = table.get("date"); date && !date->is_date_time()) {
      network.complain("date", fmt::format("is {}", topology::describe(*date)),
                       "a date and time, as in 2026-11-23T12:00:00Z");
    }
    out_.version = network.need_text("version", "the version of allemande");
    out_.mpi = network.text("mpi").value_or("");
    out_.mtu_bytes = network.integer("mtu_bytes", 576, 9216).value_or(1500);
    out_.time_scale = network.number("time_scale", {.low = 1, .high = 10'000}).value_or(1);
    out_.simulated = network.flag("simulated").value_or(false);
    for (std::size_t i = 0; i < out_.hosts.size(); ++i) {
      if (rank_of_.try_emplace(out_.hosts[i], i).second) continue;
      network.complain("hosts", fmt::format("names `{}` twice", out_.hosts[i]),
                       "one rank for each host");
      return;
    }
  }

  base::Status read_cluster(const toml::node& node) {
    if (!table_at("cluster")) return complaints_.first();
    auto cluster = topology::read_cluster(*node.as_table(), file_);
    if (!cluster) return cluster.error();
    for (const std::string& host : out_.hosts) {
      if (cluster.value().find_host(host)) continue;
      complaints_.add(node.source().begin.line, "cluster.host", fmt::format("lacks `{}`", host),
                      "every host of network.hosts");
      return complaints_.first();
    }
    out_.cluster = std::move(cluster).value();
    for (const topology::Host& host : out_.cluster->hosts) nodes_.insert(host.name);
    for (const topology::Switch& one : out_.cluster->switches) nodes_.insert(one.name);
    return {};
  }

  // Calls `read` with each [[key]] table until something is wrong.
  template <class Read>
  void for_each(std::string_view key, Read read) {
    const toml::node* node = root_.get(key);
    if (!node || complaints_.any()) return;
    const auto wrong = [&](const toml::node& found) {
      complaints_.add(found.source().begin.line, key,
                      fmt::format("is {}", topology::describe(found)),
                      fmt::format("tables [[{}]]", key));
    };
    const toml::array* tables = node->as_array();
    if (!tables) return wrong(*node);
    for (const toml::node& element : *tables) {
      const toml::table* table = element.as_table();
      if (!table) return wrong(element);
      read(Section(*table, key, complaints_));
      if (complaints_.any()) return;
    }
  }

  // The keys `key`, `low` and `high`.
  Estimate estimate(Section& section, std::string_view key, Range range) {
    Estimate out;
    out.value = section.number(key, range).value_or(0);
    out.low = section.number("low", range).value_or(out.value);
    out.high = section.number("high", range).value_or(out.value);
    if (out.low > out.value || out.high < out.value) {
      section.complain(out.low > out.value ? "low" : "high",
                       fmt::format("does not enclose {}", out.value), "low <= value <= high");
    }
    return out;
  }

  void read_parameter(Section& section) {
    section.allow({"name", "level", "carrier", "bytes", "value", "unit", "low", "high", "samples"});
    section.need("name", "the quantity, such as alpha");
    section.need("value", "the figure, in seconds or seconds per byte");
    Parameter out;
    out.name = section.text("name").value_or("");
    const auto* known = std::find_if(std::begin(kQuantities), std::end(kQuantities),
                                     [&](const Quantity& q) { return q.name == out.name; });
    if (known == std::end(kQuantities)) {
      std::string names;
      for (const Quantity& one : kQuantities) {
        names += (names.empty() ? "one of " : ", ") + std::string(one.name);
      }
      section.complain("name", fmt::format("`{}` is not known", out.name), names);
      return;
    }
    out.level =
        section.choice("level", out.level, {{"leaf", Level::kLeaf}, {"across", Level::kAcross}});
    out.transport = section.choice(
        "carrier", out.transport, {{"udp", base::Transport::kUdp}, {"mpi", base::Transport::kMpi}});
    out.bytes = section.count("bytes", 0, kBytesMax).value_or(0);
    out.value = estimate(section, "value", kAny);
    const auto unit = section.text("unit");
    if (unit && *unit != known->unit) {
      section.complain("unit", fmt::format("is `{}`", *unit), fmt::format("`{}`", known->unit));
    }
    section.numbers("samples", kAny);
    out_.parameters.push_back(std::move(out));
  }

  // The keys `from` and `to`. Without a cluster nobody knows what switches there are.
  std::pair<std::string, std::string> read_ends(Section& section) {
    const auto read = [&](std::string_view key) {
      std::string name = section.need_text(key, "the name of a host or switch");
      if (out_.cluster && !nodes_.contains(name)) {
        section.complain(key, fmt::format("`{}` is not in the cluster", name),
                         "hosts and switches of [cluster]");
      }
      return name;
    };
    std::string from = read("from");
    return {std::move(from), read("to")};
  }

  void read_link(Section& section) {
    section.allow({"from", "to", "rate_mbit_s", "low", "high", "lower_bound", "samples"});
    LinkRate out;
    std::tie(out.from, out.to) = read_ends(section);
    section.need("rate_mbit_s", "what the link carried, in Mbit/s");
    out.mbit_s = estimate(section, "rate_mbit_s", kRate);
    out.lower_bound = section.flag("lower_bound").value_or(false);
    section.numbers("samples", kRate);
    out_.links.push_back(std::move(out));
  }

  void read_port(Section& section) {
    section.allow({"from", "to", "buffer_packets", "low", "high", "state", "samples", "pool"});
    PortBuffer out;
    std::tie(out.from, out.to) = read_ends(section);
    section.need("state", "measured, not overloadable or not tried");
    out.state = section.choice("state", out.state,
                               {{"measured", PortState::kMeasured},
                                {"not overloadable", PortState::kNotOverloadable},
                                {"not tried", PortState::kNotTried}});
    out.pool = section.text("pool").value_or("");
    section.numbers("samples", kPackets);
    if (out.state == PortState::kMeasured) {
      section.need("buffer_packets", "a number, since the port was measured");
      out.packets = estimate(section, "buffer_packets", kPackets);
    } else if (section.has("buffer_packets")) {
      section.complain("buffer_packets", "stands where nothing was measured",
                       "no number, or state = \"measured\"");
    }
    out_.ports.push_back(std::move(out));
  }

  void read_sample(Section& section) {
    section.allow({"candidate", "way", "hosts", "members", "bytes", "times_s", "timeouts"});
    section.need("bytes", "bytes per pair");
    section.need("times_s", "one time per call, in seconds");
    Sample out;
    out.candidate = section.need_text("candidate", "a candidate of `allemande bench`");
    out.way = section.text("way").value_or("");
    out.bytes = section.count("bytes", 1, kBytesMax).value_or(1);
    out.times_s = section.numbers("times_s", {.low = 0, .high = 1e6, .above_low = true});
    out.timeouts = section.integer("timeouts", 0, UINT32_MAX);
    if (out.times_s.empty()) section.complain("times_s", "is empty", "one time per call or more");
    read_members(section, out);
    out_.samples.push_back(std::move(out));
  }

  void read_members(Section& section, Sample& out) {
    if (section.has("members") == section.has("hosts")) {
      section.complain(section.has("members") ? "members" : "hosts",
                       section.has("members") ? "stands beside `hosts`" : "is missing",
                       "either hosts = 16, the first 16 of network.hosts, or members = \"h[0-3]\"");
      return;
    }
    const auto all = static_cast<std::uint32_t>(out_.hosts.size());
    if (const auto count = section.integer("hosts", 2, std::max(all, 2u))) {
      if (*count > all) return section.complain("hosts", "is more than there are", "2 hosts");
      out.members.assign(out_.hosts.begin(), out_.hosts.begin() + *count);
      return;
    }
    out.members = section.names("members");
    std::unordered_set<std::string_view> met;
    for (const std::string& name : out.members) {
      if (!rank_of_.contains(name)) {
        return section.complain("members", fmt::format("`{}` is not measured", name),
                                "names of network.hosts");
      }
      if (!met.insert(name).second) {
        return section.complain("members", fmt::format("names `{}` twice", name),
                                "one rank for each host");
      }
    }
    if (out.members.size() < 2) section.complain("members", "is no exchange", "2 hosts or more");
  }

  void read_fit(Section& section) {
    section.allow({"candidate", "way", "kind", "coefficients", "sigma", "hosts_least", "hosts_most",
                   "bytes_least", "bytes_most"});
    Fit out;
    out.candidate = section.need_text("candidate", "a candidate of `allemande bench`");
    for (const std::string_view key : {"kind", "coefficients", "sigma", "hosts_least", "hosts_most",
                                       "bytes_least", "bytes_most"}) {
      section.need(key, "all keys of a fit but `way`");
    }
    out.way = section.text("way").value_or("");
    out.kind =
        section.choice("kind", out.kind,
                       {{"signature", FitKind::kSignature}, {"structural", FitKind::kStructural}});
    out.coefficients = section.numbers("coefficients", kAny);
    out.sigma = section.number("sigma", {.low = 0, .high = 10}).value_or(0);
    out.hosts_least = section.integer("hosts_least", 2, kRanksMax).value_or(2);
    out.hosts_most = section.integer("hosts_most", 2, kRanksMax).value_or(2);
    out.bytes_least = section.count("bytes_least", 1, kBytesMax).value_or(1);
    out.bytes_most = section.count("bytes_most", 1, kBytesMax).value_or(1);
    const std::size_t expected = kCoefficients[static_cast<std::size_t>(out.kind)];
    if (out.coefficients.size() != expected) {
      section.complain("coefficients", fmt::format("has {} numbers", out.coefficients.size()),
                       fmt::format("{} for this kind", expected));
    }
    if (out.hosts_least > out.hosts_most || out.bytes_least > out.bytes_most) {
      const bool hosts = out.hosts_least > out.hosts_most;
      section.complain(hosts ? "hosts_least" : "bytes_least", "is above the most", "least <= most");
    }
    out_.fits.push_back(std::move(out));
  }

  const toml::table& root_;
  std::string file_;
  topology::Complaints complaints_;
  std::unordered_map<std::string, std::size_t> rank_of_;
  std::unordered_set<std::string> nodes_;  // of the cluster
  Profile out_;
};

}  // namespace

base::Result<Profile> parse_profile(std::string_view text, std::string_view file) {
  if (text.size() > kProfileBytesMax) {
    return base::bad_input(
        fmt::format("{}: {} bytes is too large; expected a profile of at most {}", file,
                    text.size(), kProfileBytesMax));
  }
  const auto root = base::parse_toml(text, file);
  if (!root) return root.error();
  return Parser(root.value(), file).run();
}

}  // namespace alm::model
