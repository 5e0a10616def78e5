// Writes the cluster file that parse.cc reads: equal neighbours share a table by hostlist.
#include <fmt/core.h>

#include <iterator>

#include "base/hostlist.h"
#include "topology/cluster.h"

namespace alm::topology {
namespace {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Splits 0..size into runs where `same(first, i)` holds, and calls write(begin, end) for each.
template <class Same, class Write>
void for_runs(std::size_t size, Same same, Write write) {
  for (std::size_t begin = 0, end = 0; begin < size; begin = end) {
    for (end = begin + 1; end < size && same(begin, end); ++end) {
    }
    write(begin, end);
  }
}

template <class NameAt>
std::string list(std::size_t begin, std::size_t end, NameAt name_at) {
  std::vector<std::string> names;
  for (std::size_t i = begin; i < end; ++i) names.push_back(name_at(i));
  return toml_string(base::compress_hostlist(names));
}

class Writer {
 public:
  explicit Writer(const Cluster& cluster) : cluster_(cluster) {}

  std::string run() {
    put("format = 1\nname = {}\n", toml_string(cluster_.name));
    if (!cluster_.description.empty()) put("description = {}\n", toml_string(cluster_.description));
    put("\n[framing]\nmtu_bytes = {}\nlink_header_bytes = {}\n", cluster_.framing.mtu_bytes,
        cluster_.framing.link_header_bytes);
    if (cluster_.price) write_price(*cluster_.price);
    write_switches();
    write_hosts();
    write_links();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void write_price(const Price& price) {
    put("\n[price]\ncurrency = {}\nhost = {}\nswitch_box = {}\nswitches_per_box = {}\nlink = {}\n",
        toml_string(price.currency), price.host, price.switch_box, price.switches_per_box,
        price.link);
  }

  void write_switches() {
    const auto& all = cluster_.switches;
    const auto same = [&](std::size_t a, std::size_t b) {
      Switch other = all[b];
      other.name = all[a].name;
      return other == all[a];
    };
    for_runs(all.size(), same, [&](std::size_t begin, std::size_t end) {
      const Switch& node = all[begin];
      put("\n[[switch]]\nname = {}\narchitecture = \"{}\"\nswitching = \"{}\"\n",
          list(begin, end, [&](std::size_t i) { return all[i].name; }), word(node.architecture),
          node.switching == Switching::kCutThrough ? "cut-through" : "store-and-forward");
      if (node.flow_control == FlowControl::kBackPressure) {
        put("flow_control = \"back-pressure\"\n");
      }
      if (node.buffer_packets > 0) put("buffer_packets = {}\n", node.buffer_packets);
      if (node.buffer_alpha > 0) put("buffer_alpha = {}\n", node.buffer_alpha);
      if (node.backplane_mbit_s > 0) put("backplane_mbit_s = {}\n", node.backplane_mbit_s);
      if (!node.site.empty()) put("site = {}\n", toml_string(node.site));
    });
  }

  void write_hosts() {
    const auto& all = cluster_.hosts;
    const auto same = [&](std::size_t a, std::size_t b) {
      const auto interfaces = [&](std::size_t i) {
        std::vector<std::string> names{all[i].interface};
        for (const Host::Nic& nic : all[i].further) names.push_back(nic.interface);
        return names;
      };
      return all[a].address.empty() == all[b].address.empty() && all[a].links == all[b].links &&
             interfaces(a) == interfaces(b);
    };
    for_runs(all.size(), same, [&](std::size_t begin, std::size_t end) {
      put("\n[[host]]\nname = {}\n", list(begin, end, [&](std::size_t i) { return all[i].name; }));
      const Host& first = all[begin];
      if (first.links > 1) put("links = {}\n", first.links);
      if (!first.address.empty()) {
        std::string lists = list(begin, end, [&](std::size_t i) { return all[i].address; });
        for (std::size_t nic = 0; nic < first.further.size(); ++nic) {
          lists +=
              ", " + list(begin, end, [&](std::size_t i) { return all[i].further[nic].address; });
        }
        put("address = {}\n", first.further.empty() ? lists : "[" + lists + "]");
      }
      if (!first.interface.empty()) {
        std::string lists = toml_string(first.interface);
        for (const Host::Nic& nic : first.further) lists += ", " + toml_string(nic.interface);
        put("interface = {}\n", first.further.empty() ? lists : "[" + lists + "]");
      }
    });
  }

  void write_links() {
    const auto& all = cluster_.links;
    const auto name = [&](NodeId node) { return cluster_.node_name(node); };
    const auto same = [&](std::size_t a, std::size_t b) {
      Link other = all[b];
      other.from = all[a].from;
      other.lines = all[a].lines;
      return other == all[a];
    };
    for_runs(all.size(), same, [&](std::size_t begin, std::size_t end) {
      const Link& link = all[begin];
      put("\n[[link]]\nfrom = {}\nto = {}\n",
          list(begin, end, [&](std::size_t i) { return name(all[i].from); }),
          toml_string(name(link.to)));
      if (link.rate_up_mbit_s == link.rate_down_mbit_s) {
        put("rate_mbit_s = {}\n", link.rate_up_mbit_s);
      } else {
        put("rate_up_mbit_s = {}\nrate_down_mbit_s = {}\n", link.rate_up_mbit_s,
            link.rate_down_mbit_s);
      }
      if (link.latency_us > 0) put("latency_us = {}\n", link.latency_us);
      put("queue_up_packets = {}\nqueue_down_packets = {}\n", link.queue_up_packets,
          link.queue_down_packets);
      if (link.bidirectional_cap_mbit_s > 0) {
        put("bidirectional_cap_mbit_s = {}\n", link.bidirectional_cap_mbit_s);
      }
      if (link.one_way) put("one_way = true\n");
      if (link.ecn_packets > 0) put("ecn_packets = {}\n", link.ecn_packets);
    });
  }

  const Cluster& cluster_;
  std::string out_;
};

}  // namespace

std::string to_toml(const Cluster& cluster) { return Writer(cluster).run(); }

std::string_view word(Architecture value) {
  switch (value) {
    case Architecture::kInput:
      return "input";
    case Architecture::kShared:
      return "shared";
    case Architecture::kOutput:
      break;
  }
  return "output";
}

}  // namespace alm::topology
