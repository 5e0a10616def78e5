#include "bindings/simulate_options.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bindings/bindings.h"
#include "topology/graph.h"
#include "transport/message_turns.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

using harness::find_port;

[[noreturn]] void refuse(const std::string& message) {
  throw RaisedError{base::bad_input(message)};
}

// A Python dict whose keys are all known in the end.
class Reader {
 public:
  Reader(const nb::dict& values, std::string where) : values_(values), where_(std::move(where)) {}

  bool has(const char* key) {
    known_.insert(key);
    return values_.contains(key) && !nb::object(values_[key]).is_none();
  }
  template <class T>
  T get(const char* key, T otherwise, const char* expected) {
    if (!has(key)) return otherwise;
    T value{};
    if (!nb::try_cast<T>(nb::object(values_[key]), value)) {
      refuse(fmt::format("{}: `{}` is {}; expected {}", where_, key,
                         nb::cast<std::string>(nb::repr(values_[key])), expected));
    }
    return value;
  }
  std::string text(const char* key, const std::string& otherwise) {
    return get<std::string>(key, otherwise, "a name");
  }
  bool flag(const char* key, bool otherwise) { return get<bool>(key, otherwise, "true or false"); }
  std::uint64_t count(const char* key, std::uint64_t otherwise, std::uint64_t least,
                      std::uint64_t most) {
    const auto value = get<std::uint64_t>(key, otherwise, "a whole number, 0 or more");
    if (has(key) && (value < least || value > most)) {
      refuse(fmt::format("{}: `{}` is {}; expected {} to {}", where_, key, value, least, most));
    }
    return value;
  }
  std::uint32_t count32(const char* key, std::uint32_t otherwise, std::uint64_t least = 0) {
    return static_cast<std::uint32_t>(count(key, otherwise, least, 1u << 30));
  }
  // A time in units of `unit` picoseconds.
  sim::Picos time(const char* key, sim::Picos unit, double otherwise = 0) {
    constexpr double kMost = 1e18;
    const double value = get<double>(key, otherwise, "a number");
    if (!(value >= 0 && value * static_cast<double>(unit) <= kMost)) {
      refuse(fmt::format("{}: `{}` is {}; expected a time of 0 or more", where_, key, value));
    }
    return std::llround(value * static_cast<double>(unit));
  }
  nb::object object(const char* key) { return has(key) ? nb::object(values_[key]) : nb::none(); }
  void finish() const {
    for (const auto& [key, value] : values_) {
      const auto name = nb::cast<std::string>(nb::str(key));
      if (known_.count(name) > 0) continue;
      std::string valid;
      for (const std::string& one : known_) valid += (valid.empty() ? "" : ", ") + one;
      refuse(fmt::format("{}: `{}` is unknown; expected {}", where_, name, valid));
    }
  }
  const std::string& where() const { return where_; }

 private:
  const nb::dict& values_;
  std::string where_;
  std::set<std::string> known_;
};

nb::dict as_dict(const nb::handle& value, const std::string& where) {
  if (!nb::isinstance<nb::dict>(value)) refuse(where + ": expected a table of keys and values");
  return nb::cast<nb::dict>(value);
}

std::uint32_t port_of(Reader& reader, const topology::Cluster& cluster) {
  return value_or_raise(find_port(cluster, reader.text("from", ""), reader.text("to", "")));
}

std::uint32_t host_of(const topology::Cluster& cluster, const std::string& name) {
  return participants(cluster, std::vector<std::string>{name}).front().value;
}

sim::Fault read_fault(const topology::Cluster& cluster, const nb::dict& values,
                      std::uint32_t frame_bytes, std::size_t number) {
  Reader reader(values, fmt::format("faults[{}]", number));
  sim::Fault fault;
  const std::string kind = reader.text("kind", "");
  if (kind == "slow-host") {
    fault.kind = sim::Fault::Kind::kSlowHost;
    fault.host = host_of(cluster, reader.text("host", ""));
    fault.factor = reader.get<double>("factor", 2, "a number");
  } else if (kind == "link-down" || kind == "block-port") {
    fault.port = port_of(reader, cluster);
    fault.kind = kind == "link-down" ? sim::Fault::Kind::kLinkDown : sim::Fault::Kind::kBlockPort;
    fault.after_packets = reader.count32("after_packets", 0);
  } else {
    refuse(fmt::format("{}: kind `{}` is unknown; expected link-down, block-port or slow-host",
                       reader.where(), kind));
  }
  fault.start = reader.time("start_us", sim::kPicosPerMicro);
  fault.duration = reader.time("duration_us", sim::kPicosPerMicro);
  if (fault.kind == sim::Fault::Kind::kBlockPort && reader.has("duration_packets")) {
    // Packet times of the slowest participant: those of a host link.
    const double packets = reader.get<double>("duration_packets", 0, "a number");
    const topology::Link& first = cluster.links.front();
    constexpr double kBitsTimesMicro = 8;
    const double rate = std::min(first.rate_up_mbit_s, first.rate_down_mbit_s);
    fault.duration = std::llround(packets * frame_bytes * kBitsTimesMicro / rate *
                                  static_cast<double>(sim::kPicosPerMicro));
  }
  reader.finish();
  return fault;
}

sim::Module read_module(const topology::Cluster& cluster, const nb::dict& values,
                        std::size_t number) {
  Reader reader(values, fmt::format("modules[{}]", number));
  sim::Module module;
  module.link = port_of(reader, cluster) / 2;
  module.both_ways_mbit_s = reader.get<double>("cap_mbit_s", 0, "a number");
  module.per_packet = reader.time("per_packet_ns", sim::kPicosPerNano);
  module.per_waiting = reader.time("per_waiting_ns", sim::kPicosPerNano);
  reader.finish();
  return module;
}

void read_jitter(Reader& reader, SimulateOptions& out, std::uint64_t seed) {
  const std::string kind = reader.text("jitter", "start");
  const sim::Picos mean = reader.time("jitter_us", sim::kPicosPerMicro);
  const sim::Picos interval = reader.time("jitter_interval_us", sim::kPicosPerMicro);
  if (kind == "start") {
    out.jitter = {mean, seed};
    return;
  }
  if (kind != "pause") {
    refuse(fmt::format("options: jitter `{}` is unknown; expected start or pause", kind));
  }
  if (mean > 0 && interval <= 0) {
    refuse("options: jitter `pause` needs jitter_interval_us, the mean time between pauses");
  }
  out.network.pauses = {mean, interval, seed};
}

void read_hosts(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out,
                std::uint64_t seed) {
  const nb::object names = reader.object("hosts");
  HostNames list;
  if (!names.is_none()) {
    list.emplace();
    if (!nb::try_cast<std::vector<std::string>>(names, *list)) {
      refuse("options: `hosts` is no list of names");
    }
  }
  out.hosts = participants(cluster, list);
  const std::string mapping = reader.text("mapping", "sequential");
  if (mapping == "random") {
    sim::Random random(sim::mix(seed + 1));
    for (std::size_t i = out.hosts.size(); i > 1; --i) {
      std::swap(out.hosts[i - 1], out.hosts[random.below(i)]);
    }
  } else if (mapping != "sequential") {
    refuse(fmt::format("options: mapping `{}` is unknown; expected sequential or random", mapping));
  }
  // Sites without a host of this exchange do not count.
  const auto sites = topology::sites(cluster);
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::size_t i = 0; !sites.of.empty() && i < out.hosts.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    out.site_of.push_back(numbers.try_emplace(sites.of[out.hosts[i].value], next).first->second);
  }
}

void read_pairs(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  const nb::object list = reader.object("pairs");
  if (list.is_none()) return;
  std::vector<std::vector<std::string>> names;
  if (!nb::try_cast(list, names)) refuse("options: `pairs` is no list of [from, to]");
  const auto rank_of = [&](const std::string& name) {
    const std::uint32_t host = host_of(cluster, name);
    const auto found = std::find(out.hosts.begin(), out.hosts.end(), base::HostId{host});
    if (found == out.hosts.end()) {
      refuse(fmt::format("options: `pairs`: host `{}` takes no part", name));
    }
    return static_cast<std::uint32_t>(found - out.hosts.begin());
  };
  if (out.ranks_per_host > 1) refuse("options: `pairs` needs one rank per host");
  for (const auto& pair : names) {
    if (pair.size() != 2 || pair[0] == pair[1]) {
      refuse("options: `pairs` is no list of [from, to]");
    }
    out.pairs.emplace(rank_of(pair[0]), rank_of(pair[1]));
  }
}

constexpr std::uint32_t kJobsMax = 64;

void read_jobs(Reader& reader, SimulateOptions& out) {
  out.jobs = reader.count32("jobs", 1, 1);
  const std::string layout = reader.text("job_layout", "interleaved");
  out.split_jobs = layout == "split" && out.jobs > 1;
  if (layout != "split" && layout != "interleaved") {
    refuse(
        fmt::format("options: job_layout `{}` is unknown; expected interleaved or split", layout));
  }
  if (out.jobs > kJobsMax) {
    refuse(fmt::format("options: `jobs` is {}; expected 1 to {}", out.jobs, kJobsMax));
  }
  if (!out.split_jobs) return;
  if (!out.complete()) refuse("options: `matrix` and `pairs` need jobs on the same hosts");
  if (out.hosts.size() < 2 * std::size_t{out.jobs}) {
    refuse(fmt::format("options: {} hosts cannot be split among {} jobs; each needs two or more",
                       out.hosts.size(), out.jobs));
  }
}

void read_background(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  const nb::object list = reader.object("background");
  if (list.is_none()) return;
  if (!nb::isinstance<nb::sequence>(list)) refuse("options: `background` is no list");
  for (const nb::handle one : list) {
    const std::string where = fmt::format("background[{}]", out.background.size());
    const nb::dict values = as_dict(one, where);
    Reader flow(values, where);
    harness::BulkFlow made;
    made.from = host_of(cluster, flow.text("from", ""));
    made.to = host_of(cluster, flow.text("to", ""));
    if (made.from == made.to) refuse(where + ": a flow needs two hosts");
    constexpr double kMega = 1e6;
    const double rate = flow.get<double>("rate_mbit_s", 0, "a number");
    if (!(rate >= 0 && rate <= kMega)) {
      refuse(fmt::format("{}: `rate_mbit_s` is {}; expected 0 to {}", where, rate, kMega));
    }
    made.bit_s = static_cast<std::uint64_t>(rate * kMega);
    flow.finish();
    out.background.push_back(made);
  }
}

constexpr std::uint32_t kRanksPerHostMax = 1024;
constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;

void read_matrix(Reader& reader, SimulateOptions& out) {
  const nb::object given = reader.object("matrix");
  if (given.is_none()) return;
  if (!out.pairs.empty()) refuse("options: `matrix` and `pairs` both say who sends; give one");
  out.matrix = read_traffic(given, out.ranks(), "options: `matrix`");
  for (const std::uint64_t bytes : out.matrix) {
    if (bytes > kSizeMax) {
      refuse(fmt::format("options: `matrix` holds {} bytes; at most {} per pair", bytes, kSizeMax));
    }
  }
}

// [[from, to, bytes], ..] for each step.
void read_steps(Reader& reader, SimulateOptions& out) {
  const nb::object given = reader.object("steps");
  if (given.is_none()) return;
  if (!out.complete()) refuse("options: `steps`, `matrix` and `pairs` say who sends; give one");
  if (out.messages) refuse("options: `steps` needs transport `udp`");
  std::vector<std::vector<std::vector<std::uint64_t>>> steps;
  if (!nb::try_cast(given, steps) || steps.empty()) {
    refuse("options: `steps` is no list of steps, each a list of [from, to, bytes]");
  }
  for (const auto& step : steps) {
    auto& made = out.steps.emplace_back();
    for (const auto& send : step) {
      if (send.size() != 3 || send[0] >= out.ranks() || send[1] >= out.ranks() ||
          send[0] == send[1] || send[2] > kSizeMax) {
        refuse(fmt::format("options: `steps`: step {} has no [from, to, bytes] of two of {} ranks",
                           out.steps.size() - 1, out.ranks()));
      }
      made.push_back(
          {static_cast<std::uint32_t>(send[0]), static_cast<std::uint32_t>(send[1]), send[2]});
    }
    std::sort(made.begin(), made.end(), [](const auto& one, const auto& other) {
      return std::pair(one.from, one.to) < std::pair(other.from, other.to);
    });
  }
}

void read_paths(Reader& reader, SimulateOptions& out) {
  constexpr std::uint64_t kMost = wire::kPathsMax;
  out.config.paths = static_cast<std::uint32_t>(reader.count("paths", 1, 1, kMost));
  out.config.path_rule =
      value_or_raise(transport::parse_path_rule(reader.text("path_policy", "least-loaded")));
  out.config.path_batch = static_cast<std::uint32_t>(reader.count("path_batch", 0, 0, kMost));
  if (const auto checked = transport::check_paths(out.config.paths, out.config.path_batch);
      !checked) {
    refuse("options: " + checked.error().message);
  }
  if (out.config.paths > 1 && out.config.reliability == transport::Reliability::kGoBackN) {
    refuse("options: `paths` above 1 need reliability `selective-repeat`, as packets overtake");
  }
}

void read_protocol(Reader& reader, SimulateOptions& out) {
  const std::string reliability = reader.text("reliability", "selective-repeat");
  if (reliability == "go-back-n") {
    out.config.reliability = transport::Reliability::kGoBackN;
  } else if (reliability != "selective-repeat") {
    refuse(
        fmt::format("options: reliability `{}` is unknown; expected selective-repeat or go-back-n",
                    reliability));
  }
  read_paths(reader, out);
  const std::string rule = reader.text("send_rule", "either");
  if (rule == "receive-clock") {
    out.config.send_rule = transport::SendRule::kReceiveClock;
  } else if (rule == "unacked") {
    out.config.send_rule = transport::SendRule::kUnacked;
  } else if (rule != "either") {
    refuse(fmt::format(
        "options: send_rule `{}` is unknown; expected either, receive-clock or unacked", rule));
  }
  const std::string control = reader.text("congestion_control", "aimd");
  if (control != "aimd" && control != "off") {
    refuse(
        fmt::format("options: congestion_control `{}` is unknown; expected aimd or off", control));
  }
  out.config.yields = control == "aimd";
  out.config.piggyback_acks = reader.flag("piggyback_acks", true);
  out.config.timer_jitter =
      sim::to_nanos(reader.time("timer_jitter_us", sim::kPicosPerMicro, 1000));
  out.config.retransmit_budget_packets =
      reader.count32("retransmit_budget_packets", out.config.retransmit_budget_packets, 1);
  out.config.peer_timeout = sim::to_nanos(reader.time("peer_timeout_s", sim::kPicosPerSecond, 300));
}

// After the overheads and pauses.
void read_card(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  sim::HostCard& card = out.network.card;
  card.half_duplex = reader.flag("half_duplex", false);
  card.packets = reader.count32("card_packets", 0);
  constexpr double kMega = 1e6;
  const double rate = reader.get<double>("card_mbit_s", 0, "a number");
  if (!(rate >= 0 && rate <= kMega)) {
    refuse(fmt::format("options: `card_mbit_s` is {}; expected 0 to {}", rate, kMega));
  }
  card.bit_s = static_cast<std::uint64_t>(rate * kMega);
  if ((card.turn > 0 || card.bit_s > 0) && !card.half_duplex) {
    refuse("options: overheads_ns `turn` and `card_mbit_s` are those of cards with half_duplex");
  }
  if (card.half_duplex && (out.network.costs.gap > 0 || out.network.pauses.interval > 0)) {
    refuse("options: half_duplex cards have o_s, o_r, u_r and turn; no gap and no pauses");
  }
  const bool waits = std::any_of(
      cluster.switches.begin(), cluster.switches.end(),
      [](const auto& node) { return node.flow_control == topology::FlowControl::kBackPressure; });
  if (card.packets > 0 && !waits) {
    refuse("options: `card_packets` needs switches that wait, with flow_control back-pressure");
  }
}

// As the library sends them where the network loses nothing; a library that posts everything at
// once posts whole blocks.
void read_messages(Reader& reader, SimulateOptions& out) {
  const std::string transport = reader.text("transport", "udp");
  const bool direct = out.algorithm == plan::Algorithm::kDirect;
  harness::MessageFlow flow;
  flow.outstanding = reader.count32("outstanding", direct ? 0 : transport::MessageTurns::kFew);
  flow.chunk_bytes =
      reader.count("chunk_bytes", direct ? 0 : transport::MessageTurns::kChunkBytes, 0, kSizeMax);
  flow.by_turns = reader.flag("by_turns", false);
  harness::StripedFlow striped;
  striped.post = reader.time("post_ns", sim::kPicosPerNano);
  striped.handle = reader.time("completion_ns", sim::kPicosPerNano);
  if (transport == "stripes") {
    out.striped = striped;
  } else if (transport == "messages") {
    out.messages = flow;
  } else if (transport != "udp") {
    refuse(fmt::format("options: transport `{}` is unknown; expected udp, messages or stripes",
                       transport));
  }
}

// Rows as LID tables are written: of each switch, for each number the port, from 1 on in the order
// of the switch's links; 0: none.
std::vector<std::uint32_t> read_lid_tables(const topology::Cluster& cluster,
                                           const nb::object& rows) {
  std::vector<std::vector<std::uint32_t>> values;
  if (!nb::try_cast(rows, values)) refuse("options: `lid_tables` is no list of rows of ports");
  if (values.size() != cluster.switches.size()) {
    refuse(fmt::format("options: `lid_tables` has {} rows; expected {}, one for each switch",
                       values.size(), cluster.switches.size()));
  }
  const topology::Adjacency adjacency(cluster);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t node = cluster.host_count() + i;
    for (const std::uint32_t number : values[i]) {
      if (number == 0) {
        out.push_back(routing::kNoPort);
        continue;
      }
      if (number > adjacency[node].size()) {
        refuse(fmt::format("options: `lid_tables`: switch `{}` has no port {}; expected 1 to {}",
                           cluster.switches[i].name, number, adjacency[node].size()));
      }
      const std::uint32_t link = adjacency[node][number - 1].link;
      out.push_back(cluster.links[link].from.value == node ? routing::up_port(link)
                                                           : routing::down_port(link));
    }
  }
  return out;
}

void read_routes(Reader& reader, const topology::Cluster& cluster, sim::Options& network) {
  network.rule = value_or_raise(routing::parse_rule(reader.text("routing", "d-mod-k")));
  network.routes.lmc = reader.count32("lmc", 0);
  const std::string engine = reader.text("lid_engine", "minhop");
  if (engine == "updn") {
    network.routes.lid_engine = routing::LidEngine::kUpDown;
  } else if (engine != "minhop") {
    refuse(fmt::format("options: lid_engine `{}` is unknown; expected minhop or updn", engine));
  }
  const nb::object tables = reader.object("lid_tables");
  if (!tables.is_none()) network.routes.lid_ports = read_lid_tables(cluster, tables);
  if (network.rule != routing::Rule::kLid &&
      (network.routes.lmc != 0 || engine != "minhop" || !tables.is_none())) {
    refuse("options: `lmc`, `lid_engine` and `lid_tables` are of routing=lid");
  }
  if (reader.has("reroute_us")) {
    network.reroute_delay = reader.time("reroute_us", sim::kPicosPerMicro);
  }
}

}  // namespace

std::uint64_t SimulateOptions::bytes_in(std::uint32_t step, std::uint32_t from,
                                        std::uint32_t to) const {
  const auto& sends = steps[step];
  const auto found = std::lower_bound(
      sends.begin(), sends.end(), std::pair(from, to),
      [](const Send& one, const auto& wanted) { return std::pair(one.from, one.to) < wanted; });
  return found != sends.end() && found->from == from && found->to == to ? found->bytes : 0;
}

topology::Cluster as_lab(topology::Cluster cluster) {
  for (topology::Switch& node : cluster.switches) {
    node.architecture = topology::Architecture::kOutput;
    node.switching = topology::Switching::kStoreAndForward;
    node.flow_control = topology::FlowControl::kDrop;
    node.buffer_packets = 0;
    node.buffer_alpha = 0;
    node.backplane_mbit_s = 0;
  }
  return cluster;
}

SimulateOptions read_simulate_options(const topology::Cluster& cluster, const nb::dict& options) {
  Reader reader(options, "options");
  SimulateOptions out;
  const std::string mode = reader.text("mode", "packet");
  if (mode != "packet") refuse(fmt::format("options: mode `{}`; expected packet", mode));
  auto named = value_or_raise(plan::parse_named(reader.text("algorithm", "sync-shuffle")));
  out.algorithm = named.algorithm;
  out.shape = std::move(named.shape);
  out.permutation = value_or_raise(plan::parse_permutation(reader.text("permutation", "balanced")));
  out.contention_aware = reader.flag("contention_aware", true);
  out.omega = reader.count32("omega", 0);
  out.size = reader.count("size", 0, 0, kSizeMax);
  out.exchanges = reader.count32("exchanges", 1, 1);
  out.window_packets = reader.count32("window_packets", 0);
  out.window_with_acks = reader.flag("window_with_acks", false);
  out.grain_packets = reader.count32("grain_packets", 0);
  out.datagram_bytes = reader.count32("datagram_bytes", 0);
  if (out.datagram_bytes != 0 && (out.datagram_bytes < 128 || out.datagram_bytes > 65507)) {
    refuse(
        fmt::format("options: `datagram_bytes` is {}; expected 128 to 65507", out.datagram_bytes));
  }
  const std::uint64_t seed = reader.count("seed", 1, 0, UINT64_MAX);
  read_protocol(reader, out);
  read_messages(reader, out);
  read_hosts(reader, cluster, out, seed);
  out.ranks_per_host = reader.count32("ranks_per_host", 1, 1);
  if (out.ranks_per_host > kRanksPerHostMax) {
    refuse(fmt::format("options: `ranks_per_host` is {}; expected 1 to {}", out.ranks_per_host,
                       kRanksPerHostMax));
  }
  read_pairs(reader, cluster, out);
  read_matrix(reader, out);
  read_steps(reader, out);
  out.seed = seed;
  read_jobs(reader, out);
  read_background(reader, cluster, out);
  read_jitter(reader, out, seed);

  read_routes(reader, cluster, out.network);
  out.network.host_queue_packets =
      reader.count32("host_queue_packets", out.network.host_queue_packets, 1);
  out.network.output_frames = reader.count32("output_frames", out.network.output_frames);
  const nb::object overheads = reader.object("overheads_ns");
  if (!overheads.is_none()) {
    const nb::dict values = as_dict(overheads, "options: `overheads_ns`");
    Reader costs(values, "overheads_ns");
    out.network.costs.send = costs.time("o_s", sim::kPicosPerNano);
    out.network.costs.user = costs.time("u_r", sim::kPicosPerNano);
    out.network.costs.receive = costs.time("o_r", sim::kPicosPerNano) + out.network.costs.user;
    out.network.costs.gap = costs.time("g", sim::kPicosPerNano);
    out.network.card.turn = costs.time("turn", sim::kPicosPerNano);
    costs.finish();
  }
  read_card(reader, cluster, out);
  out.uneven_steps = reader.flag("uneven_steps", true);
  out.as_lab = reader.flag("as_lab", false);
  if (out.as_lab) out.network.shaper = sim::Shaper::kTokenBucket;
  out.network.shaper_slack = reader.time("shaper_slack_us", sim::kPicosPerMicro, 200);
  out.network.time_max = reader.time("time_max_s", sim::kPicosPerSecond, 1e5);
  out.network.events_max = reader.count("events_max", UINT64_MAX, 1, UINT64_MAX);
  out.memory_max = reader.count("memory_max_mib", 16384, 1, 1u << 24) << 20;
  out.trace = reader.flag("trace", false);

  const std::uint32_t frame =
      (out.datagram_bytes != 0 ? out.datagram_bytes + 28 : cluster.framing.mtu_bytes) +
      cluster.framing.link_header_bytes;
  out.network.frame_bytes = frame;
  for (const char* key : {"faults", "modules"}) {
    const nb::object list = reader.object(key);
    if (list.is_none()) continue;
    if (!nb::isinstance<nb::sequence>(list)) refuse(fmt::format("options: `{}` is no list", key));
    std::size_t number = 0;
    for (const nb::handle one : list) {
      const nb::dict values = as_dict(one, fmt::format("{}[{}]", key, number));
      if (std::string_view(key) == "faults") {
        out.network.faults.push_back(read_fault(cluster, values, frame, number));
      } else {
        out.network.modules.push_back(read_module(cluster, values, number));
      }
      ++number;
    }
  }
  reader.finish();
  return out;
}

}  // namespace alm::bindings
