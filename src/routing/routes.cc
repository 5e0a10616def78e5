#include "routing/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

namespace alm::routing {
namespace {

struct Name {
  Rule rule;
  std::string_view name;
};
constexpr std::array kNames{Name{Rule::kEcmp, "ecmp"},
                            Name{Rule::kDModK, "d-mod-k"},
                            Name{Rule::kSource, "source"},
                            Name{Rule::kLid, "lid"},
                            Name{Rule::kUpDown, "updown"},
                            Name{Rule::kValiant, "valiant"},
                            Name{Rule::kFm1, "fm1"},
                            Name{Rule::kFm2, "fm2"},
                            Name{Rule::kAlternate, "alternate"},
                            Name{Rule::kRandom, "random"},
                            Name{Rule::kLeastLoaded, "least-loaded"},
                            Name{Rule::kGiven, "given"}};

}  // namespace

std::string rule_names() {
  std::string out;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    out += i == 0 ? "" : i + 1 == kNames.size() ? " or " : ", ";
    out += kNames[i].name;
  }
  return out;
}

base::Result<Rule> parse_rule(std::string_view name) {
  for (const Name& known : kNames) {
    if (name == known.name) return known.rule;
  }
  return base::bad_input(fmt::format("routing `{}` is unknown; expected {}", name, rule_names()));
}

std::string_view name_of(Rule rule) {
  const auto* const it = std::find_if(kNames.begin(), kNames.end(),
                                      [&](const Name& known) { return known.rule == rule; });
  return it->name;
}

base::Result<Routes> Routes::make(const topology::Cluster& cluster, Rule rule,
                                  const Settings& settings) {
  Routes out;
  out.rule_ = rule;
  out.number_ports(cluster);
  Candidates candidates(cluster, settings.dead);
  if (auto filled = out.fill_tables(cluster, candidates, settings); !filled) {
    return filled.error();
  }
  switch (rule) {
    case Rule::kEcmp:
    case Rule::kSource:
      return out;
    case Rule::kDModK:
    case Rule::kUpDown:
      break;
    case Rule::kValiant:
      out.kind_ = Kind::kValiant;
      break;
    case Rule::kLid:
      out.kind_ = Kind::kLid;
      if (auto filled = out.fill_lids(cluster, settings); !filled) return filled.error();
      return out;
    case Rule::kFm1:
    case Rule::kFm2:
    case Rule::kAlternate:
    case Rule::kRandom:
    case Rule::kLeastLoaded:
      out.kind_ = Kind::kWalk;
      if (auto laid = out.lay_routes(cluster, candidates); !laid) return laid.error();
      return out;
    case Rule::kGiven:
      out.pick_by_destination(heights(cluster, candidates.adjacency()));
      if (auto laid = out.lay_given(cluster, candidates, settings.given); !laid)
        return laid.error();
      out.kind_ = Kind::kWalk;
      return out;
  }
  out.pick_by_destination(heights(cluster, candidates.adjacency()));
  return out;
}

void Routes::number_ports(const topology::Cluster& cluster) {
  hosts_ = cluster.host_count();
  switches_ = static_cast<std::uint32_t>(cluster.switches.size());
  host_port_.assign(hosts_, kNoPort);
  for (std::uint32_t link = 0; link < cluster.links.size(); ++link) {
    const topology::Link& l = cluster.links[link];
    end_of_port_.push_back(l.to.value);
    end_of_port_.push_back(l.from.value);
    if (cluster.is_host(l.from)) host_port_[l.from.value] = up_port(link);
    if (cluster.is_host(l.to)) host_port_[l.to.value] = down_port(link);
  }
}

base::Status Routes::fill_tables(const topology::Cluster& cluster, Candidates& candidates,
                                 const Settings& settings) {
  const std::vector<std::uint32_t> height = heights(cluster, candidates.adjacency());
  table_.assign(std::size_t{switches_} * hosts_, kNoPort);
  std::vector<bool> with_hosts(switches_, false);
  for (const std::uint32_t port : host_port_) {
    if (port != kNoPort && !ends(port)) with_hosts[end_of_port_[port] - hosts_] = true;
  }
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  Candidates::Ports ports;
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    if (host_port_[host] == kNoPort) {
      return base::bad_input(
          fmt::format("host `{}` has no link; expected exactly one", cluster.hosts[host].name));
    }
    if (cluster.hosts[host].links > 1) {
      return base::bad_input(fmt::format(
          "host `{}` has {} links; routes, and simulations, are those of hosts with one link each",
          cluster.hosts[host].name, cluster.hosts[host].links));
    }
    if (rule_ == Rule::kUpDown) {
      candidates.up_down(host, ports);
    } else {
      candidates.shortest(host, ports);
    }
    for (std::uint32_t i = 0; i < switches_; ++i) {
      // Up*/down* and dead links may leave a switch without a route; no packet is led there.
      const bool may_lack = rule_ == Rule::kUpDown || !settings.dead.empty();
      if (ports[i].empty() && (settings.partial || (may_lack && !with_hosts[i]))) continue;
      if (ports[i].empty()) {
        return base::bad_input(fmt::format("no path leads from switch `{}` to host `{}`",
                                           cluster.switches[i].name, cluster.hosts[host].name));
      }
      std::uint32_t& entry = table_[std::size_t{i} * hosts_ + host];
      if (ports[i].size() == 1) {
        entry = ports[i].front();
        continue;
      }
      const std::uint32_t level = height[hosts_ + i];
      if (radix_.size() <= level) radix_.resize(level + 1, 1);
      radix_[level] = std::max(radix_[level], static_cast<std::uint32_t>(ports[i].size()));
      const auto [it, is_new] =
          known.try_emplace(ports[i], static_cast<std::uint32_t>(groups_.size()));
      if (is_new) {
        groups_.push_back({static_cast<std::uint32_t>(members_.size()),
                           static_cast<std::uint32_t>(ports[i].size())});
        members_.insert(members_.end(), ports[i].begin(), ports[i].end());
      }
      entry = kChoice | it->second;
    }
  }
  return {};
}

// Consecutive destinations go to different ports, and what a level below has told apart is told
// apart no more: no two destinations below one switch share a route down that they need not share.
void Routes::pick_by_destination(const std::vector<std::uint32_t>& height) {
  choice_ = table_;
  for (std::uint32_t i = 0; i < switches_; ++i) {
    std::uint64_t divisor = 1;
    const std::uint32_t level = height[hosts_ + i];
    for (std::uint32_t below = 0; below < std::min<std::size_t>(level, radix_.size()); ++below) {
      divisor *= radix_[below];
    }
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      std::uint32_t& entry = table_[std::size_t{i} * hosts_ + host];
      if ((entry & kChoice) == 0 || entry == kNoPort) continue;
      const Group& group = groups_[entry & ~kChoice];
      entry = members_[group.begin + host / divisor % group.count];
    }
  }
}

std::uint32_t Routes::choose(std::uint32_t switch_index, std::uint32_t group,
                             std::uint32_t& flow) const {
  const Group& among = groups_[group];
  if (rule_ == Rule::kSource) {
    const std::uint32_t digit = flow % among.count;
    flow /= among.count;
    return members_[among.begin + digit];
  }
  // The switch takes part, or all switches of a level would split the same flows the same way; and
  // two rounds of mixing, or those of the next level would not split what this one sends them.
  std::uint64_t mixed = (std::uint64_t{switch_index} << 32 | flow) + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
  mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
  const std::uint64_t pick = ((mixed >> 32) * among.count) >> 32;
  return members_[among.begin + pick];
}

std::uint32_t Routes::enter(std::uint32_t from, std::uint32_t to, std::uint32_t label) const {
  switch (rule_) {
    case Rule::kLid:
      return label & ((1u << lmc_) - 1);
    case Rule::kValiant: {
      // A host's number plus 1 until its switch is reached.
      const std::uint32_t middle = flow_hash(from, to, label) % hosts_;
      const std::uint32_t leaf = end_of_port_[host_port_[middle]];
      const bool on_the_way =
          leaf == end_of_port_[host_port_[from]] || leaf == end_of_port_[host_port_[to]];
      return on_the_way ? 0 : middle + 1;
    }
    case Rule::kFm1:
    case Rule::kLeastLoaded:
      return route(from, to, 0);
    case Rule::kFm2:
      return route(from, to, 1);
    case Rule::kAlternate:
      return route(from, to, label % 2);
    case Rule::kRandom:
      return route(from, to, flow_hash(from, to, label) % 2);
    case Rule::kGiven: {
      const Group& routes = given_routes_[std::size_t{from} * hosts_ + to];
      return begins_[routes.begin + label % routes.count];
    }
    case Rule::kEcmp:
    case Rule::kDModK:
    case Rule::kSource:
    case Rule::kUpDown:
      break;
  }
  return label;
}

std::uint32_t Routes::next_special(std::uint32_t switch_index, std::uint32_t host,
                                   std::uint32_t& flow) const {
  if (kind_ == Kind::kWalk) return pool_[flow++];
  if (kind_ == Kind::kLid) {
    const std::size_t lids = std::size_t{hosts_} << lmc_;
    return lid_ports_[switch_index * lids + ((std::size_t{host} << lmc_) | flow)];
  }
  if (flow != 0) {
    const std::uint32_t middle = flow - 1;
    if (end_of_port_[host_port_[middle]] != hosts_ + switch_index) {
      return table_[std::size_t{switch_index} * hosts_ + middle];
    }
    flow = 0;
  }
  return table_[std::size_t{switch_index} * hosts_ + host];
}

std::span<const std::uint32_t> Routes::choices(std::uint32_t switch_index,
                                               std::uint32_t host) const {
  const std::size_t at = std::size_t{switch_index} * hosts_ + host;
  const std::uint32_t& entry = choice_.empty() ? table_[at] : choice_[at];
  if (entry == kNoPort) return {};
  if ((entry & kChoice) == 0) return {&entry, 1};
  const Group& group = groups_[entry & ~kChoice];
  return std::span(members_).subspan(group.begin, group.count);
}

std::vector<std::uint32_t> Routes::path(std::uint32_t from, std::uint32_t to,
                                        std::uint32_t label) const {
  std::uint32_t flow = enter(from, to, label);
  std::vector<std::uint32_t> ports{host_port_[from]};
  while (end_of_port_[ports.back()] != to) {
    const std::uint32_t port = next(end_of_port_[ports.back()] - hosts_, to, flow);
    if (port == kNoPort) return {};
    ports.push_back(port);
  }
  return ports;
}

std::uint32_t Routes::path_count(std::uint32_t from, std::uint32_t to) const {
  if (kind_ == Kind::kLid) return 1u << lmc_;
  if (rule_ == Rule::kGiven) return given_routes_[std::size_t{from} * hosts_ + to].count;
  std::uint64_t count = 1;
  std::uint32_t node = end_of_port_[host_port_[from]];
  while (node != to) {
    const auto ports = choices(node - hosts_, to);
    count = std::min<std::uint64_t>(count * ports.size(), UINT32_MAX);
    node = end_of_port_[ports.front()];
  }
  return static_cast<std::uint32_t>(count);
}

void Routes::keep_routes_of(const Routes& earlier) {
  if (kind_ != Kind::kWalk) return;
  const auto shift = static_cast<std::uint32_t>(earlier.pool_.size());
  pool_.insert(pool_.begin(), earlier.pool_.begin(), earlier.pool_.end());
  for (std::uint32_t& begin : first_) begin += shift;
  for (std::uint32_t& begin : second_) begin += shift;
  for (std::uint32_t& begin : begins_) begin += shift;
}

std::size_t Routes::bytes() const {
  return (table_.capacity() + choice_.capacity() + members_.capacity() + lid_ports_.capacity() +
          pool_.capacity() + first_.capacity() + second_.capacity() + begins_.capacity()) *
             sizeof(std::uint32_t) +
         (groups_.capacity() + given_routes_.capacity()) * sizeof(Group);
}

}  // namespace alm::routing
