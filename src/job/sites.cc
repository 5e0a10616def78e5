#include "job/sites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "base/hostlist.h"

namespace alm::job {
namespace {

constexpr std::string_view kTooFew = "the algorithm is for several sites";

base::Result<std::vector<std::uint32_t>> parse_counts(std::string_view counts) {
  std::vector<std::uint32_t> found;
  for (std::string_view rest = counts;;) {
    std::uint32_t count = 0;
    const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    const auto used = static_cast<std::size_t>(end - rest.data());
    if (wrong != std::errc() || count == 0 || (used < rest.size() && rest[used] != ',')) {
      return base::bad_input(fmt::format(
          "ALLEMANDE_SITES=`{}` is no list of ranks of sites; expected numbers above 0, as in "
          "30,30, or hosts, as in rennes=h[0-29]/nancy=h[30-59]",
          counts));
    }
    found.push_back(count);
    if (used == rest.size()) return found;
    rest.remove_prefix(used + 1);
  }
}

// [rank] "site 0", "site 1", ... by the counts.
base::Result<std::vector<std::string>> by_counts(std::string_view text, std::size_t ranks) {
  const auto counts = parse_counts(text);
  if (!counts) return counts.error();
  const auto& all = counts.value();
  if (std::accumulate(all.begin(), all.end(), std::uint64_t{0}) != ranks) {
    return base::bad_input(fmt::format(
        "ALLEMANDE_SITES={} does not add up to the {} ranks of this communicator", text, ranks));
  }
  std::vector<std::string> names;
  for (std::size_t site = 0; site < all.size(); ++site) {
    names.insert(names.end(), all[site], fmt::format("site {}", site));
  }
  return names;
}

using SiteOfHost = std::map<std::string, std::string, std::less<>>;

base::Result<SiteOfHost> parse_hosts(std::string_view sites) {
  SiteOfHost site_of;
  for (std::string_view rest = sites; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const auto equals = std::min(one.find('='), one.size());
    const std::string name(one.substr(0, equals));
    const auto hosts = base::expand_hostlist(one.substr(std::min(one.size(), equals + 1)));
    if (name.empty() || !hosts || hosts.value().empty()) {
      return base::bad_input(fmt::format(
          "ALLEMANDE_SITES: `{}` says no site and its hosts; expected NAME=HOSTS, as in "
          "rennes=h[0-29]/nancy=h[30-59]",
          one));
    }
    for (const std::string& host : hosts.value()) {
      const auto [known, fresh] = site_of.try_emplace(host, name);
      if (fresh) continue;
      return base::bad_input(
          fmt::format("ALLEMANDE_SITES: host {} is named at `{}` and at `{}`; "
                      "expected each host once",
                      host, known->second, name));
    }
  }
  return site_of;
}

// [rank] its site, by the hosts of each.
base::Result<std::vector<std::string>> by_hosts(std::string_view sites,
                                                std::span<const std::string> host_names) {
  const auto parsed = parse_hosts(sites);
  if (!parsed) return parsed.error();
  const SiteOfHost& site_of = parsed.value();
  std::vector<std::string> of_rank;
  for (std::size_t rank = 0; rank < host_names.size(); ++rank) {
    const auto found = site_of.find(host_names[rank]);
    if (found == site_of.end()) {
      return base::bad_input(fmt::format(
          "ALLEMANDE_SITES: {} (rank {}) is at none of the sites; expected all hosts of the job",
          host_names[rank], rank));
    }
    of_rank.push_back(found->second);
  }
  return of_rank;
}

base::Result<std::vector<std::string>> by_option(std::string_view sites,
                                                 std::span<const std::string> host_names) {
  if (names_hosts(sites)) return by_hosts(sites, host_names);
  return by_counts(sites, host_names.size());
}

bool some_are_named(const SitesSaid& said) {
  return std::any_of(said.names.begin(), said.names.end(),
                     [](const std::string& name) { return !name.empty(); });
}

base::Result<std::vector<std::string>> by_names(const SitesSaid& said,
                                                std::span<const std::string> host_names) {
  std::vector<std::string> valid;
  if (said.cluster != nullptr) valid = topology::sites(*said.cluster).names;
  for (std::size_t rank = 0; rank < said.names.size(); ++rank) {
    const std::string& name = said.names[rank];
    if (name.empty()) {
      return base::bad_input(
          fmt::format("ALLEMANDE_SITE is not set on {} (rank {}), but on other hosts; expected the "
                      "name of its site",
                      host_names[rank], rank));
    }
    if (valid.empty() || std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
    return base::bad_input(fmt::format(
        "ALLEMANDE_SITE=`{}` on {} (rank {}) is no site of the cluster file; expected one of {}",
        name, host_names[rank], rank, fmt::join(valid, ", ")));
  }
  return std::vector<std::string>(said.names.begin(), said.names.end());
}

}  // namespace

bool names_hosts(std::string_view sites) { return sites.find('=') != std::string_view::npos; }

bool says_sites(const SitesSaid& said) {
  return !said.sites.empty() || some_are_named(said) ||
         (said.cluster != nullptr && !topology::sites(*said.cluster).of.empty());
}

base::Result<HostSites> sites_of_hosts(const plan::Placement& placement,
                                       std::span<const std::string> host_names,
                                       const SitesSaid& said) {
  std::vector<std::string> of_rank;
  if (!said.sites.empty() || some_are_named(said)) {
    auto found =
        said.sites.empty() ? by_names(said, host_names) : by_option(said.sites, host_names);
    if (!found) return found.error();
    of_rank = std::move(found).value();
  } else if (said.cluster != nullptr) {
    const auto sites = topology::sites(*said.cluster);
    for (std::uint32_t rank = 0; !sites.of.empty() && rank < placement.rank_count(); ++rank) {
      of_rank.push_back(sites.names[sites.of[said.hosts[placement.host_of[rank]].value]]);
    }
  }
  if (of_rank.empty()) {
    return base::bad_input(fmt::format(
        "{}, and nothing says where the hosts are; expected `site` at the switches of the cluster "
        "file, ALLEMANDE_SITE on every host, or ALLEMANDE_SITES=30,30",
        kTooFew));
  }
  std::map<std::string, std::uint32_t> numbers;
  HostSites out;
  for (std::uint32_t host = 0; host < placement.hosts(); ++host) {
    const std::string& site = of_rank[placement.leader(host)];
    for (const std::uint32_t rank : placement.ranks[host]) {
      if (of_rank[rank] == site) continue;
      return base::bad_input(
          fmt::format("{} is at two sites, `{}` and `{}`; expected one for all "
                      "its ranks",
                      host_names[rank], site, of_rank[rank]));
    }
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [known, fresh] = numbers.try_emplace(site, next);
    out.of.push_back(known->second);
    if (fresh) out.names.push_back(site);
  }
  return out;
}

base::Status HostSites::several() const {
  if (names.size() > 1) return {};
  return base::bad_input(fmt::format("{}, and all hosts are at `{}`", kTooFew, names.front()));
}

base::Status check_sites(std::string_view sites) {
  if (sites.empty()) return {};
  if (names_hosts(sites)) {
    if (const auto parsed = parse_hosts(sites); !parsed) return parsed.error();
  } else if (const auto parsed = parse_counts(sites); !parsed) {
    return parsed.error();
  }
  return {};
}

}  // namespace alm::job
