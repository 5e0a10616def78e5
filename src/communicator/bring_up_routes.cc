// How many paths there are to each other host, and which routes they take: what routers tell
// (meeting/found_routes.h), or the links of the hosts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "communicator/bring_up.h"
#include "job/settings.h"
#include "meeting/hop_questions.h"
#include "topology/graph.h"

namespace alm::communicator {
namespace {

constexpr base::Nanos kRouterPatience = 10 * base::kMillisecond;
// 36 five-tuples: of four equal ways one is missed by all of them once in 8000 pairs of hosts. More
// sockets would cost more questions.
constexpr std::uint32_t kSocketsForRoutes = 6;

// Where there are ways that are not known, five-tuples as they come, and a policy that adapts: with
// fewer some ways would have none.
constexpr std::uint32_t kPathsUnknown = 16;

}  // namespace

// Collective. No error if no routes are found.
base::Status BringUp::settle_paths(meeting::PeerRecord& mine) {
  const auto asked = job::paths_asked(job_.options);
  const std::uint32_t links = job_.links();
  members_.paths = asked.value_or(links);
  // In a tree there is one route between any two hosts.
  const bool tree = job_.cluster && topology::is_tree(*job_.cluster);
  if (tree || !job::finds_routes(job_.options, links)) return {};
  if (auto found = find_routes(mine); !found) return found;
  if (members_.self != 0) return {};
  const char* const paths = members_.paths == 1 ? "path" : "paths";
  if (members_.routes.known()) {
    job_.log.info(fmt::format("{} routes between leaves, {} {}", members_.routes.count,
                              members_.paths, paths));
  } else {
    job_.log.info(fmt::format("no router has told which routes there are: {} {}{}", members_.paths,
                              paths, members_.paths == 1 ? "" : ", hashed"));
  }
  return {};
}

std::vector<std::vector<io::Address>> BringUp::addresses_of_peers() const {
  std::vector<std::vector<io::Address>> addresses;
  for (const meeting::PeerRecord& record :
       meeting::leaders_of(records_, members_.placement, members_.leader())) {
    auto of_host = meeting::addresses_of(record);
    addresses.push_back(of_host ? std::move(of_host).value() : std::vector<io::Address>{});
  }
  return addresses;
}

// [question] the router; length 0: none has answered.
std::vector<io::Address> BringUp::ask_routers(std::span<const io::HopQuestion> questions,
                                              meeting::RouteSearch* search) {
  meeting::HopQuestions hops(questions, base::slowed(kRouterPatience, job_.options.time_scale),
                             search);
  if (!questions.empty()) driver_->ask_routers(hops);
  return hops.routers();
}

base::Status BringUp::find_routes(meeting::PeerRecord& mine) {
  meeting::RouterRecord told;
  std::vector<meeting::RouterRecord> all(members_.ranks);  // those that do not lead tell nothing
  if (driver_ != nullptr && !job_.no_routers) {
    const auto questions = meeting::leaf_questions(addresses_of_peers(), members_.host);
    told = meeting::leaf_record(ask_routers(questions));
  }
  const meeting::LeafRecord& leaf = told;
  std::uint64_t silent = leaf.leaf == meeting::RouterAddress{} ? 1 : 0;
  if (auto compared = collectives_.least(silent); !compared) return compared;
  if (silent != 0) {         // as in most networks: one switch
    job_.no_routers = true;  // first hops are the host's own, whoever the members are
    return {};
  }
  std::vector<meeting::LeafRecord> leaves(members_.ranks);
  if (auto gathered = collectives_.gather(leaf, leaves); !gathered) return gathered;
  std::transform(leaves.begin(), leaves.end(), all.begin(),
                 [](const meeting::LeafRecord& one) { return meeting::RouterRecord{one}; });
  if (!meeting::has_several_leaves(all)) return {};
  if (!job::paths_asked(job_.options)) {
    if (auto opened = open_sockets_for_routes(mine); !opened) return opened;
  }
  Asked asked;
  if (driver_ != nullptr) {
    asked.addresses = addresses_of_peers();
    asked.questions = meeting::route_questions(asked.addresses, members_.host, of_hosts(all));
    meeting::RouteSearch search(job::paths_asked(job_.options).value_or(0));
    asked.routers = ask_routers(asked.questions, &search);
    meeting::add_routers(told, asked.routers);
    const auto deeper = meeting::deeper_questions(asked.questions, asked.routers);
    meeting::note_deeper(told, ask_routers(deeper), asked.routers);
  }
  if (auto gathered = collectives_.gather(told, all); !gathered) return gathered;
  const std::uint32_t middles = meeting::routes_in(all);
  std::vector<meeting::TopRecord> all_tops;  // empty: routes of two levels, or not known further up
  std::uint32_t tops = 1;
  if (middles > 0 && meeting::any_deeper(all)) {
    all_tops.resize(members_.ranks);
    const auto found = find_tops(all, asked);
    if (auto gathered = collectives_.gather(found, all_tops); !gathered) return gathered;
    tops = meeting::tops_in(all, all_tops);
    if (tops == 0) all_tops.clear();
  }
  if (!job::paths_asked(job_.options)) {
    const bool one_way = meeting::has_one_way(all);
    const bool known = middles > 0 && (!meeting::any_deeper(all) || tops > 0);
    const std::uint32_t sockets = leaders_.front().paths;  // as many on every rank
    members_.paths = one_way ? 1
                     : known ? middles * tops
                             : std::min(kPathsUnknown, sockets * sockets);
    if (!known) return {};
  }
  if (driver_ == nullptr || middles == 0) return {};
  const auto top_records = all_tops.empty() ? all_tops : of_hosts(all_tops);
  members_.routes =
      meeting::find_routes(of_hosts(all), top_records, members_.host, members_.paths,
                           {asked.questions, asked.routers, asked.tops}, asked.addresses);
  if (members_.routes.known()) {
    std::vector<std::string> hosts;
    for (std::uint32_t host = 0; host < members_.placement.hosts(); ++host) {
      hosts.push_back(members_.host_names[members_.placement.leader(host)]);
    }
    job_.log.debug("routes by path number: " + members_.routes.text(hosts));
  }
  return {};
}

// The third hop of what leads to other pods; and the second one of what has not been asked about
// it.
meeting::TopRecord BringUp::find_tops(const std::vector<meeting::RouterRecord>& all, Asked& asked) {
  if (driver_ == nullptr) return {};
  const auto late = [](std::span<const io::Address> before, const io::Address& router) {
    return std::find(before.begin(), before.end(), router) != before.end();
  };
  const auto which = meeting::questions_to_pods(of_hosts(all), members_.host, asked.questions);
  const auto further = meeting::further_questions(asked.questions, which, 1);
  meeting::RouteSearch search(job::paths_asked(job_.options).value_or(0));
  const auto tops = ask_routers(further, &search);
  asked.tops.resize(asked.questions.size());
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < which.size(); ++k) {
    if (tops[k].length == 0 || late(asked.routers, tops[k])) continue;
    asked.tops[which[k]] = tops[k];
    if (asked.routers[which[k]].length == 0) missing.push_back(which[k]);
  }
  const auto middles = ask_routers(meeting::further_questions(asked.questions, missing, 0));
  for (std::size_t k = 0; k < missing.size(); ++k) {
    if (!late(tops, middles[k])) asked.routers[missing[k]] = middles[k];
  }
  meeting::TopRecord record = meeting::top_record(asked.questions, asked.routers, asked.tops);
  meeting::RouterRecord beyond;
  meeting::note_deeper(beyond, ask_routers(meeting::deeper_questions(further, tops)), tops);
  record.deeper = static_cast<std::uint8_t>(record.deeper | beyond.deeper);
  return record;
}

// Where one rank cannot open them, all go on with one socket: then at most as many routes are found
// as there are pairs of hosts.
base::Status BringUp::open_sockets_for_routes(meeting::PeerRecord& mine) {
  if (driver_ != nullptr) {
    if (const auto opened = driver_->open_sockets(kSocketsForRoutes); opened) {
      meeting::set_addresses(mine, driver_->endpoint(), kSocketsForRoutes);
    } else {
      job_.log.info("one socket, hence one path: " + opened.error().message);
    }
  }
  if (auto gathered = gather_sockets(mine); !gathered) return gathered;
  std::uint32_t least = kSocketsForRoutes;
  for (std::uint32_t leader = 0; leader < members_.leaders; ++leader) {
    for (const auto& record : meeting::leaders_of(records_, members_.placement, leader)) {
      least = std::min<std::uint32_t>(least, record.paths);
    }
  }
  for (meeting::PeerRecord& record : records_) {
    record.paths = std::min<std::uint8_t>(record.paths, static_cast<std::uint8_t>(least));
  }
  leaders_ = meeting::leaders_of(records_, members_.placement);
  return {};
}

}  // namespace alm::communicator
