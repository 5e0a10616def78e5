#include "communicator/bring_up.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "execute/configuration.h"
#include "job/settings.h"
#include "job/sites.h"
#include "job/slurm_leaf.h"
#include "meeting/hello_exchange.h"
#include "node/node_slabs.h"
#include "topology/cluster.h"
#include "transport/io/udp_socket.h"
#include "ways/plan_settings.h"

namespace alm::communicator {
namespace {

constexpr std::uint32_t kSafeDatagramBytes = 1232;  // 1280 (RFC 8200 section 5) - IPv6 40 - UDP 8
constexpr std::string_view kNative = "its MPI_Alltoall passes through";

}  // namespace

void BringUp::warn(const std::string& reason, std::string_view consequence) const {
  if (members_.self != 0 || job_.mpi == nullptr) return;
  job_.warn_once(
      fmt::format("communicator of {} ranks: {}; {}", members_.ranks, reason, consequence));
}

BringUp::Result BringUp::run(std::string_view refusal) {
  if (const auto joined = join(refusal); !joined) {
    const std::string& reason = joined.error().message;
    // Where ranks share hosts, communicators within one are nothing to warn of.
    if (members_.placement.hosts() != 1) {
      warn(reason, kNative);
    } else if (members_.self == 0) {
      job_.log.info(
          fmt::format("communicator of {} ranks: {}; {}", members_.ranks, reason, kNative));
    }
    return {false, reason};
  }
  std::string obstacle;
  if (job_.options.transport != "mpi") {
    const auto opened = open_udp();
    if (opened) {
      job_.stats.update([](job::StatsRecord& stats) { ++stats.over_udp; });
      return {true, {}};
    }
    obstacle = opened.error().message;
    if (job_.options.transport == "udp") {
      warn(obstacle, kNative);
      return {false, obstacle};
    }
    warn(obstacle, "its MPI_Alltoall takes MPI point-to-point messages instead");
  }
  if (const auto opened = open_messages(); !opened) {
    warn(opened.error().message, kNative);
    return {false, opened.error().message};
  }
  ways_.take_messages();
  job_.stats.update([](job::StatsRecord& stats) { ++stats.over_mpi; });
  return {true, obstacle};
}

base::Status BringUp::gather_names(const meeting::PeerRecord& mine) {
  if (auto gathered = gather_part<meeting::PeerName>(mine); !gathered) return gathered;
  const auto refuses = [](const meeting::PeerRecord& record) { return record.refuses != 0; };
  if (std::none_of(records_.begin(), records_.end(), refuses)) return {};
  return gather_part<meeting::PeerCause>(mine);
}

base::Status BringUp::gather_sockets(const meeting::PeerRecord& mine) {
  const base::Nanos begin = io::monotonic_now();
  if (auto gathered = gather_part<meeting::PeerSockets>(mine); !gathered) return gathered;
  if (job_.links() > 1) {
    if (auto gathered = gather_part<meeting::PeerLinks>(mine); !gathered) return gathered;
  }
  const auto explains = [](const meeting::PeerRecord& record) { return record.explains != 0; };
  if (std::any_of(records_.begin(), records_.end(), explains)) {
    if (auto gathered = gather_part<meeting::PeerCause>(mine); !gathered) return gathered;
  }
  leaders_ = meeting::leaders_of(records_, members_.placement);
  gathering_ = io::monotonic_now() - begin;
  return {};
}

base::Status BringUp::join(std::string_view refusal) {
  meeting::PeerRecord mine;
  mine.refuses = refusal.empty() ? 0 : 1;
  meeting::set_cause(mine, refusal);
  job::set_host(mine.host, job_.host);
  mine.machine = job_.records[job_.rank].machine;
  mine.leaf = job::leaf_number(job_.switches.names);
  records_.resize(members_.ranks);
  if (const auto gathered = gather_names(mine); !gathered) return gathered.error();

  for (const meeting::PeerRecord& record : records_) {
    members_.host_names.emplace_back(job::host_of(record.host));
  }
  members_.placement = meeting::place(records_, job_.mpi == nullptr);
  members_.host = members_.placement.host_of[members_.self];
  leaders_ = meeting::leaders_of(records_, members_.placement);
  for (std::uint32_t rank = 0; rank < members_.ranks; ++rank) {
    if (records_[rank].refuses == 0) continue;
    return base::io_error(
        fmt::format("{}: {}", members_.name_of(rank), records_[rank].cause.data()));
  }
  auto membership = meeting::judge(records_, members_.placement, job_.cluster_or_null());
  if (!membership.refusal.empty()) return base::bad_input(membership.refusal);
  members_.hosts = std::move(membership.hosts);
  if (job_.cluster) {
    members_.tuning = plan::tune(*job_.cluster, members_.hosts);
    members_.leaves = topology::schedule_hierarchy(*job_.cluster).of(members_.hosts);
  } else {
    members_.leaves = meeting::leaves_told(leaders_);
  }
  members_.leaders = ways::leaders_wanted(job_.options, members_.placement,
                                          members_.tuning ? &*members_.tuning : nullptr);
  if (ways::knows_sites(job_.options)) {
    if (const auto found = find_sites(); !found) return found.error();
  } else if (ways::may_take_sites(job_.options)) {
    take_known_sites();
  }
  return ways_.plan(job_.options, job_.profile_or_null(), job_.cluster_or_null());
}

base::Status BringUp::open_udp() {
  meeting::PeerRecord mine = records_[members_.self];
  meeting::ReservedSets sets;  // given back wherever this ends without a group
  std::unique_ptr<node::NodeMemory> memory;
  if (members_.is_leader()) open_sockets(mine, sets);
  if (members_.leads() && mine.udp != 0 && members_.placement.shared()) memory = lend_memory(mine);
  if (const auto gathered = gather_sockets(mine); !gathered) return gathered.error();
  std::string obstacle = meeting::udp_obstacle(leaders_);
  if (obstacle.empty() && members_.placement.shared()) {
    if (const auto shared = share_memory(memory); !shared) obstacle = shared.error().message;
  }
  if (!obstacle.empty()) return base::io_error("UDP cannot be used: " + obstacle);
  settle_leaders();
  if (const auto warning = meeting::socket_warning(leaders_);
      members_.self == 0 && !warning.empty()) {
    job_.warn_once(warning);
  }

  if (auto settled = settle_paths(mine); !settled) return settled;
  std::uint32_t datagram_bytes = common_datagram_bytes();
  if (auto said = say_hello(sets, datagram_bytes); !said) {
    if (datagram_bytes <= kSafeDatagramBytes) return said;
    if (auto shorter = say_shorter_hello(sets, datagram_bytes, said.error()); !shorter) {
      return shorter;
    }
    datagram_bytes = kSafeDatagramBytes;
  }
  check_forecast(datagram_bytes);
  courier_.take_udp(std::move(memory));
  ways_.take_udp(courier_.phases_bytes_max());
  return {};
}

// The MTU of the route is known only now.
void BringUp::check_forecast(std::uint32_t datagram_bytes) {
  if (!ways_.rests_on_profile()) return;
  const std::uint32_t mtu_bytes = job_.profile->mtu_bytes;
  if (datagram_bytes == mtu_bytes - io::header_bytes(AF_INET) ||
      datagram_bytes == mtu_bytes - io::header_bytes(AF_INET6)) {
    return;
  }
  ways_.forget_forecast();
  if (members_.self != 0) return;
  job_.warn_once(fmt::format(
      "ALLEMANDE_PROFILE: {} is of another network: it was measured with an MTU of {} bytes, while "
      "datagrams of {} bytes are sent here. It is not used.",
      job_.options.profile, mtu_bytes, datagram_bytes));
}

void BringUp::open_sockets(meeting::PeerRecord& mine, meeting::ReservedSets& sets) {
  const auto key = job::random_key(job_.random_bytes);
  if (!key) return meeting::set_cause(mine, key.error().message);
  mine.key = key.value();
  const auto driver = job_.driver();
  if (!driver) return meeting::set_cause(mine, driver.error().message);
  driver_ = driver.value();
  reserve(mine, sets);
  if (mine.set == 0) return meeting::set_cause(mine, "too many communicators are in use");
  const io::Endpoint& endpoint = driver_->endpoint();
  // Another communicator may have opened more. How many this one takes is known later.
  const bool open = !job::paths_asked(job_.options) && job_.links() == 1;
  meeting::set_addresses(mine, endpoint, open ? 1 : endpoint.paths(), job_.links());
  if (const auto warnings = endpoint.warnings(); !warnings.empty()) {
    meeting::set_cause(mine, warnings.front());
  }
}

// Reserves set numbers, for any packets: those that the group may not need come last. mine.set is 0
// if too few are left.
void BringUp::reserve(meeting::PeerRecord& mine, meeting::ReservedSets& sets) {
  const std::size_t phases = members_.leads() ? ways_.phases_max() : 0;
  const std::size_t shared = members_.leads() && members_.leaders > 1 ? 1 : 0;
  sets = meeting::ReservedSets(*driver_, 1 + phases + shared + members_.lanes());
  mine.set = mine.shared_set = 0;
  mine.phase_sets.fill(0);
  mine.lanes.fill(0);
  auto numbers = sets.numbers();
  if (numbers.empty()) return;
  const auto take = [&numbers](std::size_t count, auto to) {
    std::copy_n(numbers.begin(), count, to);
    numbers = numbers.subspan(count);
  };
  take(1, &mine.set);
  take(shared, &mine.shared_set);
  take(members_.lanes(), mine.lanes.begin());
  take(phases, mine.phase_sets.begin());
}

// All ranks compute the same from the records.
void BringUp::settle_leaders() {
  for (std::uint32_t leader = 1; leader < members_.leaders; ++leader) {
    const auto obstacle =
        meeting::udp_obstacle(meeting::leaders_of(records_, members_.placement, leader));
    if (obstacle.empty()) continue;
    members_.leaders = 1;
    if (members_.self == 0) job_.warn_once("one leader per host: " + obstacle);
  }
  if (!members_.is_leader()) driver_ = nullptr;
}

std::uint32_t BringUp::common_datagram_bytes() const {
  std::uint32_t bytes = meeting::common_datagram_bytes(leaders_);
  for (std::uint32_t leader = 1; leader < members_.leaders; ++leader) {
    const auto others = meeting::leaders_of(records_, members_.placement, leader);
    bytes = std::min(bytes, meeting::common_datagram_bytes(others));
  }
  return bytes;
}

// Null: `mine` has the reason, and no longer offers sockets.
std::unique_ptr<node::NodeMemory> BringUp::lend_memory(meeting::PeerRecord& mine) const {
  auto memory = node::NodeMemory::create(
      node::node_shape(members_.placement, members_.host, node::kNodeSlabBytes), mine.key,
      {job_.liveness, job_.rank});
  if (!memory) {
    mine.udp = 0;
    meeting::set_cause(mine, memory.error().message);
    return nullptr;
  }
  mine.process = static_cast<std::int32_t>(getpid());
  mine.memory_file = memory.value()->file();
  return std::move(memory).value();
}

// Collective. Done when every rank has the memory of its leader.
base::Status BringUp::share_memory(std::unique_ptr<node::NodeMemory>& memory) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t outcome = kAll;
  meeting::PeerRecord mine = records_[members_.self];
  const plan::Placement& placement = members_.placement;
  if (!members_.leads()) {
    const meeting::PeerRecord& leader = leaders_[members_.host];
    auto attached =
        node::NodeMemory::attach(node::node_shape(placement, members_.host, node::kNodeSlabBytes),
                                 leader.key, leader.process, leader.memory_file,
                                 placement.local_rank[members_.self], {job_.liveness, job_.rank});
    if (attached) {
      memory = std::move(attached).value();
    } else {
      outcome = members_.self;
      meeting::set_cause(mine, attached.error().message);
    }
  }
  if (const auto told = collectives_.least(outcome); !told) return told.error();
  if (outcome == kAll) return {};
  // Only the ranks that failed know the reason.
  if (const auto gathered = gather_sockets(mine); !gathered) return gathered.error();
  const auto rank = static_cast<std::uint32_t>(outcome);
  return base::io_error(
      fmt::format("{} cannot share memory with rank {} (in a container of its own?): {}",
                  members_.name_of(rank), placement.leader(placement.host_of[rank]),
                  records_[rank].cause.data()));
}

// Done when every pair of hosts has exchanged a full packet; the group is open then.
base::Status BringUp::say_hello(meeting::ReservedSets& sets, std::uint32_t datagram_bytes) {
  ways_.fit(datagram_bytes - wire::kHeaderBytes);
  if (driver_ != nullptr) open_udp_group(sets, datagram_bytes);
  // Nobody begins before everybody listens. A rank that does not wait says hello too early at
  // worst, and says it again until it is answered; the outcome tells whether it has been.
  collectives_.come_together();
  std::uint64_t outcome = driver_ != nullptr ? courier_.say_hello() : meeting::kHelloComplete;
  const auto told = collectives_.least(outcome);
  const auto gap = told ? meeting::hello_gap(outcome) : std::nullopt;
  if (told && !gap) {
    if (driver_ != nullptr) courier_.begin_together();
    return {};
  }
  courier_.close_udp_group();
  if (!told) return told.error();
  const auto named = [this](std::uint32_t host) {
    const job::InterfaceAddress address{.family = leaders_[host].family,
                                        .bytes = leaders_[host].address};
    return fmt::format("{} ({})", members_.host_names[members_.placement.leader(host)],
                       to_string(address));
  };
  return base::io_error(fmt::format(
      "no UDP hello of {} bytes from {} to {} within {} ms: a firewall, a smaller MTU between "
      "them, or the wrong interface (ALLEMANDE_INTERFACE names another one)?",
      datagram_bytes, named(gap->sender), named(gap->receiver),
      job::hello_timeout(job_.options) / base::kMillisecond));
}

// After one of `tried_bytes` has not got through, for this reason.
base::Status BringUp::say_shorter_hello(meeting::ReservedSets& sets, std::uint32_t tried_bytes,
                                        const base::Error& reason) {
  meeting::PeerRecord mine = records_[members_.self];
  if (driver_ != nullptr) reserve(mine, sets);
  if (const auto gathered = gather_sockets(mine); !gathered) return gathered.error();
  for (std::uint32_t leader = 0; leader < members_.leaders; ++leader) {
    const auto others = meeting::leaders_of(records_, members_.placement, leader);
    const auto without = [](const meeting::PeerRecord& one) { return one.set == 0; };
    if (std::any_of(others.begin(), others.end(), without)) return reason;
  }
  if (!say_hello(sets, kSafeDatagramBytes)) return reason;
  if (members_.self == 0) {
    job_.warn_once(fmt::format(
        "UDP datagrams of {} bytes do not get through ({}); {} bytes are used. Set the MTU of "
        "the hosts' interfaces, or ALLEMANDE_MTU_BYTES, to what the path carries.",
        tried_bytes, reason.message, kSafeDatagramBytes));
  }
  return {};
}

void BringUp::open_udp_group(meeting::ReservedSets& sets, std::uint32_t datagram_bytes) {
  io::PeerSet peers;
  const auto& tuning = members_.tuning;
  peers.config = job::channel_config(job_.options, tuning ? &*tuning : nullptr, datagram_bytes,
                                     driver_->endpoint().receive_buffer_bytes());
  set_times(peers.config);
  if (job_.cluster) execute::set_limit_time(peers.config, *job_.cluster, members_.hosts);
  const auto leaders = meeting::leaders_of(records_, members_.placement, members_.leader());
  peers.identity.key = meeting::common_key(leaders);
  peers.identity.self = members_.host;
  // Ranks first, since any of them may be lost, then hosts.
  peers.names = members_.rank_names();
  const plan::Placement& placement = members_.placement;
  for (std::uint32_t host = 0; host < placement.hosts(); ++host) {
    const bool alone = placement.count(host) == 1;
    peers.numbers.push_back(alone ? placement.leader(host) : members_.ranks + host);
    peers.names.push_back(members_.host_text(host));
  }
  if (const std::uint32_t links = job_.links(); links > 1) {
    const io::Tuples round = io::round_of_links(members_.paths, driver_->endpoint().paths(), links);
    peers.tuples.assign(placement.hosts(), round);
  }
  peers.config.paths = members_.paths;
  peers.config.path_batch = std::min(peers.config.path_batch, members_.paths);
  peers.config.path_rule = job::path_rule(job_.options, false);
  carrier::UdpGroup::Shared shared{members_.leaders, {}, lanes(peers)};
  if (members_.routes.known()) peers.tuples = members_.routes.tuples;
  peers.config.path_rule =
      job::path_rule(job_.options, meeting::assigns_paths(job_.options, members_.routes));
  std::vector<std::vector<std::uint16_t>> phase_sets(members_.leads() ? ways_.phases() : 0);
  for (const meeting::PeerRecord& record : leaders) {
    add_peer(peers, record, record.set);
    for (std::size_t phase = 0; phase < phase_sets.size(); ++phase) {
      phase_sets[phase].push_back(record.phase_sets[phase]);
    }
    if (members_.leads() && members_.leaders > 1) shared.sets.push_back(record.shared_set);
  }
  peers.identity.local_set = leaders[members_.host].set;
  const std::size_t made =
      1 + phase_sets.size() + (shared.sets.empty() ? 0 : 1) + shared.lanes.size();
  courier_.open_udp_group(*driver_, std::move(peers), phase_sets, std::move(shared));
  sets.hand_over(made);
}

void BringUp::add_peer(io::PeerSet& peers, const meeting::PeerRecord& record, std::uint16_t set) {
  peers.identity.remote_set.push_back(set);
  auto addresses = meeting::addresses_of(record);
  peers.addresses.push_back(addresses ? std::move(addresses).value() : std::vector<io::Address>{});
}

// In lane d the d-th leader after this one of every other host is the peer, to which this rank is
// the peer in the lane that goes the rest of the way round. `own`: names and numbers are the same.
std::vector<io::PeerSet> BringUp::lanes(const io::PeerSet& own) const {
  std::vector<io::PeerSet> lanes;
  const std::uint32_t count = members_.lanes();
  const std::uint32_t self = members_.leader();
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    const std::uint32_t there = (self + lane) % count;
    io::PeerSet& peers = lanes.emplace_back(own);
    peers.tuples.clear();  // ports of others
    auto both = meeting::leaders_of(records_, members_.placement, std::min(self, there));
    const auto others = meeting::leaders_of(records_, members_.placement, std::max(self, there));
    both.insert(both.end(), others.begin(), others.end());
    peers.identity.key = meeting::common_key(both);
    for (const meeting::PeerRecord& record :
         meeting::leaders_of(records_, members_.placement, there)) {
      add_peer(peers, record, record.lanes[(count - lane) % count]);
    }
    peers.identity.local_set = records_[members_.self].lanes[lane];
    peers.identity.remote_set[members_.host] = peers.identity.local_set;
  }
  return lanes;
}

base::Status BringUp::open_messages() {
  if (auto planned = ways_.plan_messages(job_.options); !planned) return planned;
  const auto opened = courier_.open_messages();
  if (collectives_.on_all(opened.ok())) return {};
  courier_.drop_messages();
  if (!opened) job_.log.warning(opened.error().message);
  return base::io_error("not every rank has a private communicator for messages");
}

bool BringUp::add_messages() { return courier_.has_messages() || open_messages().ok(); }

}  // namespace alm::communicator
