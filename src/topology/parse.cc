// The cluster file, format 1 (docs/cluster-file.md).
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/hostlist.h"
#include "base/node_names.h"
#include "base/text_file.h"
#include "base/toml.h"
#include "topology/cluster.h"
#include "topology/cluster_table.h"
#include "topology/section.h"
#include "topology/site_check.h"

namespace alm::topology {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::uint32_t kQueueMaxPackets = 10'000'000;
constexpr Range kRate{.low = 0, .high = kRateMax, .above_low = true};
constexpr Range kRateOrNone{.low = 0, .high = kRateMax};
constexpr Range kAlphaOrNone{.low = 0, .high = 1000};
constexpr Range kPrice{.low = 0, .high = 1e9};
constexpr Range kLatency{.low = 0, .high = 1e9};

class Parser {
 public:
  Parser(const toml::table& root, std::string_view file) : root_(root), complaints_(file) {}

  base::Result<Cluster> run() {
    read_top();
    for_each("switch", [&](Section section) { read_switches(section); });
    for_each("host", [&](Section section) { read_hosts(section); });
    if (!complaints_.any()) index_names();
    links_of_.resize(cluster_.hosts.size() + cluster_.switches.size());
    for_each("link", [&](Section section) { read_links(section); });
    if (!complaints_.any()) check_graph();
    if (complaints_.any()) return complaints_.first();
    return std::move(cluster_);
  }

 private:
  void read_top() {
    Section top(root_, "", complaints_);
    top.allow({"format", "name", "description", "framing", "price", "switch", "host", "link"});
    top.need("format", "format = 1");
    if (const toml::node* format = root_.get("format");
        format && format->value_exact<std::int64_t>() != kFormat) {
      top.complain("format", "is not supported", "format = 1");
    }
    top.need("name", "a name for the cluster");
    cluster_.name = top.text("name").value_or("");
    if (top.has("name") && !base::is_node_name(cluster_.name))
      complain_name(top, "name", cluster_.name);
    cluster_.description = top.text("description").value_or("");
    if (const toml::node* node = root_.get("framing")) read_framing(*node);
    if (const toml::node* node = root_.get("price")) read_price(*node);
    top.need("host", "at least one [[host]]");
  }

  bool is_table(const toml::node& node, std::string_view key) {
    if (node.is_table()) return true;
    Section(root_, "", complaints_)
        .complain(key, fmt::format("is {}", describe(node)), fmt::format("a table [{}]", key));
    return false;
  }

  void read_price(const toml::node& node) {
    if (!is_table(node, "price")) return;
    Section price(*node.as_table(), "price", complaints_);
    price.allow({"currency", "host", "switch_box", "switches_per_box", "link"});
    Price out;
    out.currency = price.text("currency").value_or(out.currency);
    out.host = price.number("host", kPrice).value_or(0);
    out.switch_box = price.number("switch_box", kPrice).value_or(0);
    out.switches_per_box = price.integer("switches_per_box", 1, 1024).value_or(1);
    out.link = price.number("link", kPrice).value_or(0);
    cluster_.price = out;
  }

  void read_framing(const toml::node& node) {
    if (!is_table(node, "framing")) return;
    Section framing(*node.as_table(), "framing", complaints_);
    framing.allow({"mtu_bytes", "link_header_bytes"});
    Framing& out = cluster_.framing;
    out.mtu_bytes = framing.integer("mtu_bytes", 576, 9216).value_or(out.mtu_bytes);
    out.link_header_bytes =
        framing.integer("link_header_bytes", 0, 256).value_or(out.link_header_bytes);
  }

  // Calls `read` with each [[key]] table until something is wrong.
  template <class Read>
  void for_each(std::string_view key, Read read) {
    const toml::node* node = root_.get(key);
    if (!node || complaints_.any()) return;
    const auto wrong = [&](std::uint32_t line, const toml::node& found) {
      complaints_.add(line, key, fmt::format("is {}", describe(found)),
                      fmt::format("tables [[{}]]", key));
    };
    const toml::array* tables = node->as_array();
    if (!tables) return wrong(node->source().begin.line, *node);
    for (const toml::node& element : *tables) {
      const toml::table* table = element.as_table();
      if (!table) return wrong(element.source().begin.line, element);
      read(Section(*table, key, complaints_));
      if (complaints_.any()) return;
    }
  }

  void read_switches(Section& section) {
    section.allow({"name", "architecture", "switching", "flow_control", "buffer_packets",
                   "buffer_alpha", "backplane_mbit_s", "site"});
    section.need("name", "one or more switch names, as in leaf[0-3]");
    Switch node;
    node.architecture = section.choice("architecture", node.architecture,
                                       {{"output", Architecture::kOutput},
                                        {"input", Architecture::kInput},
                                        {"shared", Architecture::kShared}});
    node.switching = section.choice("switching", node.switching,
                                    {{"store-and-forward", Switching::kStoreAndForward},
                                     {"cut-through", Switching::kCutThrough}});
    node.flow_control = section.choice(
        "flow_control", node.flow_control,
        {{"drop", FlowControl::kDrop}, {"back-pressure", FlowControl::kBackPressure}});
    node.buffer_packets = section.integer("buffer_packets", 0, kQueueMaxPackets).value_or(0);
    node.buffer_alpha = section.number("buffer_alpha", kAlphaOrNone).value_or(0);
    node.backplane_mbit_s = section.number("backplane_mbit_s", kRateOrNone).value_or(0);
    node.site = section.text("site").value_or("");
    if (section.has("site") && !base::is_node_name(node.site))
      return complain_name(section, "site", node.site);
    for (std::string& name : section.names("name")) {
      if (!declare(section, name, cluster_.switches.size())) return;
      node.name = std::move(name);
      switch_lines_.push_back(section.line());
      cluster_.switches.push_back(node);
    }
  }

  void read_hosts(Section& section) {
    section.allow({"name", "address", "interface", "links"});
    section.need("name", "one or more host names, as in h[0-31]");
    std::vector<std::string> names = section.names("name");
    const std::uint32_t links = section.integer("links", 1, kHostLinksMax).value_or(1);
    const auto addresses = section.name_lists("address");
    const auto interfaces = section.name_lists("interface");
    check_links(section, links, addresses, interfaces);
    check_addresses(section, addresses, names.size());
    check_interfaces(section, interfaces, names.size());
    if (complaints_.any()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!declare(section, names[i], cluster_.hosts.size())) return;
      Host host;
      host.name = std::move(names[i]);
      host.links = links;
      const std::uint32_t given = addresses.empty() && interfaces.empty() ? 0 : links;
      host.further.resize(std::max(given, 1u) - 1);
      for (std::uint32_t nic = 0; nic < given; ++nic) {
        std::string& address = nic == 0 ? host.address : host.further[nic - 1].address;
        std::string& interface = nic == 0 ? host.interface : host.further[nic - 1].interface;
        if (!interfaces.empty()) {
          interface = interfaces[nic][interfaces[nic].size() == 1 ? 0 : i];
        }
        if (!addresses.empty()) address = addresses[nic][i];
      }
      host_lines_.push_back(section.line());
      cluster_.hosts.push_back(std::move(host));
    }
  }

  using NameLists = std::vector<std::vector<std::string>>;

  static void check_links(Section& section, std::uint32_t links, const NameLists& addresses,
                          const NameLists& interfaces) {
    for (const auto& [key, lists] :
         {std::pair("address", &addresses), {"interface", &interfaces}}) {
      if (lists->empty() || lists->size() == links) continue;
      section.complain(
          key, fmt::format("gives {} lists for {} links", lists->size(), links),
          "a list for each link of a host, as in [\"10.1.0.[1-4]\", \"10.2.0.[1-4]\"]");
    }
  }

  void check_addresses(Section& section, const NameLists& lists, std::size_t hosts) {
    for (const auto& list : lists) {
      if (list.size() != hosts) {
        section.complain("address",
                         fmt::format("gives {} addresses for {} hosts", list.size(), hosts),
                         "one address for each host, as in 10.0.0.[1-32]");
      }
      for (const std::string& address : list) {
        if (!base::is_address(address)) {
          return section.complain("address",
                                  fmt::format("`{}` is no IPv4 or IPv6 address", address),
                                  "addresses as in 10.0.0.[1-32] or fd00::[1-9]");
        }
        if (!addresses_.insert(address).second) {
          return section.complain("address", fmt::format("`{}` is used twice", address),
                                  "a different address for each host");
        }
      }
    }
  }

  static void check_interfaces(Section& section, const NameLists& lists, std::size_t hosts) {
    for (const auto& list : lists) {
      if (list.size() == 1 || list.size() == hosts) continue;
      section.complain("interface",
                       fmt::format("gives {} interfaces for {} hosts", list.size(), hosts),
                       "one interface for all, or one for each host");
    }
  }

  // Checks a new node's name and the bound on how many there are.
  bool declare(Section& section, const std::string& name, std::size_t so_far) {
    if (!base::is_node_name(name)) {
      complain_name(section, "name", name);
      return false;
    }
    const auto [earlier, is_new] = declared_.insert({name, section.line_of("name")});
    if (!is_new) {
      section.complain("name",
                       fmt::format("`{}` is already declared in line {}", name, earlier->second),
                       "names that differ, among hosts and switches");
      return false;
    }
    if (so_far >= base::kHostlistMax) {
      section.complain("name", "declares too many", fmt::format("at most {}", base::kHostlistMax));
      return false;
    }
    return true;
  }

  static void complain_name(Section& section, std::string_view key, const std::string& name) {
    section.complain(
        key, fmt::format("`{}` is not a name", name),
        fmt::format("1 to {} letters, digits, dots, dashes and underscores", base::kNodeNameMax));
  }

  void index_names() {
    node_of_.reserve(cluster_.hosts.size() + cluster_.switches.size());
    std::uint32_t next = 0;
    for (const Host& host : cluster_.hosts) node_of_.emplace(host.name, NodeId{next++});
    for (const Switch& node : cluster_.switches) node_of_.emplace(node.name, NodeId{next++});
  }

  void read_links(Section& section) {
    section.allow({"from", "to", "rate_mbit_s", "rate_up_mbit_s", "rate_down_mbit_s", "latency_us",
                   "queue_up_packets", "queue_down_packets", "bidirectional_cap_mbit_s", "one_way",
                   "ecn_packets"});
    section.need("from", "the names at the lower end, as in h[0-7]");
    section.need("to", "the name at the upper end, as in leaf0");
    Link link;
    const auto rate = section.has("rate_mbit_s") ? "rate_mbit_s" : "rate_up_mbit_s";
    link.lines = {section.line_of("from"), section.line_of(rate), section.line_of("latency_us"),
                  section.line_of("queue_up_packets"), section.line_of("queue_down_packets")};
    read_rates(section, link);
    link.latency_us = section.number("latency_us", kLatency).value_or(0);
    link.queue_up_packets =
        section.integer("queue_up_packets", 1, kQueueMaxPackets).value_or(kQueueDefaultPackets);
    link.queue_down_packets =
        section.integer("queue_down_packets", 1, kQueueMaxPackets).value_or(kQueueDefaultPackets);
    link.bidirectional_cap_mbit_s =
        section.number("bidirectional_cap_mbit_s", kRateOrNone).value_or(0);
    link.one_way = section.flag("one_way").value_or(false);
    link.ecn_packets = section.integer("ecn_packets", 0, kQueueMaxPackets).value_or(0);
    const std::vector<NodeId> from = nodes(section, "from");
    const std::vector<NodeId> to = nodes(section, "to");
    if (complaints_.any()) return;
    if (from.size() != to.size() && from.size() > 1 && to.size() > 1) {
      section.complain("to",
                       fmt::format("{} names in `from` meet {} in `to`", from.size(), to.size()),
                       "one name, or as many as in `from`");
      return;
    }
    for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
      link.from = from[from.size() == 1 ? 0 : i];
      link.to = to[to.size() == 1 ? 0 : i];
      if (!attach(section, link)) return;
    }
  }

  static void read_rates(Section& section, Link& link) {
    const bool both = section.has("rate_mbit_s");
    const std::string_view one_way =
        section.has("rate_up_mbit_s") ? "rate_up_mbit_s" : "rate_down_mbit_s";
    if (both && section.has(one_way)) {
      section.complain(one_way, "stands beside `rate_mbit_s`",
                       "either rate_mbit_s, or rate_up_mbit_s and rate_down_mbit_s");
      return;
    }
    if (both) {
      link.rate_up_mbit_s = section.number("rate_mbit_s", kRate).value_or(0);
      link.rate_down_mbit_s = link.rate_up_mbit_s;
      return;
    }
    if (!section.has("rate_up_mbit_s") && !section.has("rate_down_mbit_s")) {
      section.need("rate_mbit_s", "the rate of both directions, in Mbit/s");
      return;
    }
    section.need("rate_up_mbit_s", "the rate from `from` to `to`, in Mbit/s");
    section.need("rate_down_mbit_s", "the rate from `to` to `from`, in Mbit/s");
    link.rate_up_mbit_s = section.number("rate_up_mbit_s", kRate).value_or(0);
    link.rate_down_mbit_s = section.number("rate_down_mbit_s", kRate).value_or(0);
  }

  std::vector<NodeId> nodes(Section& section, std::string_view key) {
    std::vector<NodeId> result;
    for (const std::string& name : section.names(key)) {
      const auto found = node_of_.find(name);
      if (found == node_of_.end()) {
        section.complain(key, fmt::format("`{}` is not declared", name),
                         "names from [[host]] and [[switch]]");
        return {};
      }
      result.push_back(found->second);
    }
    return result;
  }

  bool attach(Section& section, const Link& link) {
    const auto name = [&](NodeId node) { return cluster_.node_name(node); };
    if (link.from == link.to) {
      section.complain("to", fmt::format("`{}` is linked to itself", name(link.to)),
                       "two different ends");
      return false;
    }
    if (cluster_.is_host(link.from) && cluster_.is_host(link.to)) {
      section.complain(
          "to",
          fmt::format("hosts `{}` and `{}` are linked directly", name(link.from), name(link.to)),
          "a switch at one end at least");
      return false;
    }
    if (link.one_way && (cluster_.is_host(link.from) || cluster_.is_host(link.to))) {
      section.complain("one_way",
                       fmt::format("`{}` or `{}` is a host", name(link.from), name(link.to)),
                       "one-way links between switches only");
      return false;
    }
    if (cluster_.links.size() >= 2 * base::kHostlistMax) {
      section.complain("from", "declares too many links",
                       fmt::format("at most {}", 2 * base::kHostlistMax));
      return false;
    }
    for (const NodeId end : {link.from, link.to}) {
      auto& [first_line, count] = links_of_[end.value];
      ++count;
      if (cluster_.is_host(end) && count > cluster_.hosts[end.value].links) {
        section.complain(
            end == link.from ? "from" : "to",
            count == 2
                ? fmt::format("host `{}` already has a link, in line {}", name(end), first_line)
                : fmt::format("host `{}` already has {} links", name(end), count - 1),
            count == 2 ? "exactly one link for each host, unless `links` says more"
                       : "as many as its `links` says");
        return false;
      }
      if (count == 1) first_line = section.line_of("from");
    }
    cluster_.links.push_back(link);
    return true;
  }

  void check_graph() {
    for (std::uint32_t i = 0; i < links_of_.size(); ++i) {
      const bool host = i < cluster_.hosts.size();
      if (links_of_[i].count >= (host ? cluster_.hosts[i].links : 1)) continue;
      if (links_of_[i].count > 0) {
        complaints_.add(line_of(NodeId{i}), "host.links",
                        fmt::format("is {}, but `{}` has {}", cluster_.hosts[i].links,
                                    cluster_.node_name(NodeId{i}), links_of_[i].count),
                        "as many [[link]]s that name it");
        return;
      }
      complaints_.add(line_of(NodeId{i}), host ? "host.name" : "switch.name",
                      fmt::format("`{}` has no link", cluster_.node_name(NodeId{i})),
                      "a [[link]] that names it");
      return;
    }
    check_connected();
    if (!complaints_.any()) check_sites();
  }

  void check_sites() {
    const auto trouble = trouble_with_sites(cluster_);
    if (!trouble) return;
    complaints_.add(line_of(trouble->node),
                    cluster_.is_host(trouble->node) ? "host.name" : "switch.site", trouble->what,
                    trouble->expected);
  }

  // One component: any host reaches any other.
  void check_connected() {
    std::vector<std::uint32_t> group(links_of_.size());
    for (std::uint32_t i = 0; i < group.size(); ++i) group[i] = i;
    const auto find = [&](std::uint32_t node) {
      while (group[node] != node) node = group[node] = group[group[node]];
      return node;
    };
    for (const Link& link : cluster_.links) group[find(link.from.value)] = find(link.to.value);
    for (std::uint32_t i = 1; i < group.size(); ++i) {
      if (find(i) == find(0)) continue;
      complaints_.add(line_of(NodeId{i}), cluster_.is_host(NodeId{i}) ? "host.name" : "switch.name",
                      fmt::format("no path leads from `{}` to `{}`", cluster_.node_name(NodeId{0}),
                                  cluster_.node_name(NodeId{i})),
                      "links that join all hosts and switches");
      return;
    }
  }

  std::uint32_t line_of(NodeId node) const {
    return cluster_.is_host(node) ? host_lines_[node.value]
                                  : switch_lines_[node.value - cluster_.hosts.size()];
  }

  const toml::table& root_;
  Complaints complaints_;
  Cluster cluster_;
  std::unordered_map<std::string, std::uint32_t> declared_;  // name -> line
  std::unordered_set<std::string> addresses_;
  std::unordered_map<std::string, NodeId> node_of_;
  std::vector<std::uint32_t> host_lines_, switch_lines_;
  struct LinksOf {
    std::uint32_t first_line = 0, count = 0;
  };
  std::vector<LinksOf> links_of_;  // by node
};

}  // namespace

base::Result<Cluster> read_cluster(const toml::table& root, std::string_view source_name) {
  return Parser(root, source_name).run();
}

base::Result<Cluster> parse_cluster(std::string_view text, std::string_view source_name) {
  const auto root = base::parse_toml(text, source_name);
  if (!root) return root.error();
  return read_cluster(root.value(), source_name);
}

base::Result<Cluster> load_cluster(const std::string& path) {
  const auto text = base::read_text(path, kClusterFileBytesMax, "a cluster file");
  if (!text) return text.error();
  return parse_cluster(text.value(), path);
}

}  // namespace alm::topology
