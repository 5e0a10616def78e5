// How a communicator comes to be accelerated, at its first MPI_Alltoall. Every step ends in a
// collective on the user's communicator, so that all ranks take the same way:
//
//   1. Allgather of host names: several hosts, all named in the cluster file? Else pass through.
//   2. Allgather of sockets and set numbers. A host without sockets: MPI messages for all.
//   3. Where ranks share hosts, they attach to the memory of their leaders, and the minimum of the
//      outcomes. One that cannot: MPI messages for all.
//   4. Hello over UDP between the leaders of the hosts, and the minimum of the outcomes. A second
//      try has packets that fit any path IPv6 allows; then MPI messages.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <algorithm>

#include "mpi/communicator.h"
#include "mpi/hello.h"

namespace alm::mpi {
namespace {

constexpr std::uint32_t kSafeDatagramBytes = 1232;  // 1280 (RFC 8200 section 5) - IPv6 40 - UDP 8
constexpr std::uint32_t kPathsInUse = 1;

template <class Record>
int gather(MpiOps& ops, CommHandle comm, const Record& mine, std::vector<Record>& all) {
  return ops.allgather(comm, std::as_bytes(std::span(&mine, 1)),
                       std::as_writable_bytes(std::span(all)));
}

constexpr std::string_view kNative = "its MPI_Alltoall passes through";

transport::Key random_key() {
  transport::Key key{};
  // Never blocks or fails once the kernel is up, for so few bytes (getrandom(2)).
  [[maybe_unused]] const auto got = getrandom(key.data(), sizeof key, 0);
  return key;
}

}  // namespace

std::unique_ptr<Communicator> Communicator::pass_through(Job& job, CommHandle comm,
                                                         std::uint32_t ranks, std::uint32_t self,
                                                         std::string reason) {
  std::unique_ptr<Communicator> made(new Communicator(job, comm, ranks, self));
  made->obstacle_ = std::move(reason);
  if (self == 0) {
    job.log.info(fmt::format("communicator of {} ranks: {}; {}", ranks, made->obstacle_, kNative));
  }
  return made;
}

std::unique_ptr<Communicator> Communicator::create(Job& job, CommHandle comm, std::uint32_t ranks,
                                                   std::uint32_t self) {
  std::unique_ptr<Communicator> made(new Communicator(job, comm, ranks, self));
  const auto tell = [&](const std::string& reason, std::string_view consequence) {
    made->obstacle_ = reason;
    if (self != 0 || reason.empty() || !job.has_native) return;
    job.warn_once(fmt::format("communicator of {} ranks: {}; {}", ranks, reason, consequence));
  };
  if (const auto reason = made->join(); !reason.empty()) {
    // Where ranks share hosts, communicators within one are nothing to warn of.
    if (made->placement_.hosts() > 1) {
      tell(reason, kNative);
    } else if (self == 0) {
      job.log.info(fmt::format("communicator of {} ranks: {}; {}", ranks, reason, kNative));
    }
    return made;
  }
  if (job.options.transport != "mpi") {
    const auto reason = made->open_udp();
    if (reason.empty()) {
      made->mode_ = Mode::kUdp;
      made->watch_counts();
      job.stats.update([](StatsRecord& stats) { ++stats.over_udp; });
      return made;
    }
    if (job.options.transport == "udp") {
      tell(reason, kNative);
      return made;
    }
    tell(reason, "its MPI_Alltoall takes MPI point-to-point messages instead");
  }
  if (const auto reason = made->open_messages(); !reason.empty()) {
    tell(reason, kNative);
    return made;
  }
  made->mode_ = Mode::kMessages;
  made->over_mpi_ = true;
  job.stats.update([](StatsRecord& stats) { ++stats.over_mpi; });
  return made;
}

std::string Communicator::join() {
  PeerRecord mine;
  mine.key = random_key();
  set_host(mine.host, job_.host);
  records_.resize(ranks_);
  if (gather(job_.ops, comm_, mine, records_) != kMpiSuccess) return "MPI_Allgather failed on it";

  placement_ = place(records_, !job_.has_native);
  host_ = placement_.host_of[self_];
  const auto membership = judge(records_, placement_, job_.cluster_or_null());
  if (!membership.refusal.empty()) return membership.refusal;
  hosts_ = membership.hosts;
  if (job_.cluster) tuning_ = plan::tune(*job_.cluster, hosts_);
  auto groups = group_of(job_.cluster_or_null(), hosts_);
  if (!groups) return groups.error().message;
  groups_ = std::move(groups).value();
  auto rounds = make_rounds(job_.options, groups_, placement_.hosts(), host_);
  if (!rounds) return rounds.error().message;
  rounds_ = std::move(rounds).value();
  if (placement_.equal()) {
    phased_ = make_phased(job_.options, groups_, placement_.hosts(), host_);
  }
  return {};
}

std::string Communicator::open_udp() {
  PeerRecord mine = records_[self_];
  std::unique_ptr<node::NodeMemory> memory;
  io::Driver* driver = nullptr;  // the leader's
  if (placement_.leads(self_)) {
    driver = open_driver(mine);
    if (driver != nullptr && placement_.shared()) memory = lend_memory(mine);
  }
  if (gather(job_.ops, comm_, mine, records_) != kMpiSuccess) return "MPI_Allgather failed on it";
  auto leaders = leaders_of(records_, placement_);
  std::string obstacle = udp_obstacle(leaders);
  if (obstacle.empty() && placement_.shared()) obstacle = attach(memory);
  if (!obstacle.empty()) {
    if (driver != nullptr) give_back(*driver, mine);
    return "UDP cannot be used: " + obstacle;
  }
  if (const auto warning = socket_warning(leaders); self_ == 0 && !warning.empty()) {
    job_.warn_once(warning);
  }

  const std::uint32_t datagram_bytes = common_datagram_bytes(leaders);
  const std::string reason = try_hello(driver, leaders, datagram_bytes);
  bool open = reason.empty();
  if (!open && datagram_bytes > kSafeDatagramBytes) {
    if (driver != nullptr && !reserve(*driver, mine)) mine.set = 0;
    if (gather(job_.ops, comm_, mine, records_) != kMpiSuccess) return "MPI_Allgather failed on it";
    leaders = leaders_of(records_, placement_);
    if (std::any_of(leaders.begin(), leaders.end(), [](const auto& one) { return one.set == 0; })) {
      return reason;
    }
    open = try_hello(driver, leaders, kSafeDatagramBytes).empty();
    if (open && self_ == 0) {
      job_.warn_once(fmt::format(
          "UDP datagrams of {} bytes do not get through ({}); {} bytes are used. Set the MTU of "
          "the hosts' interfaces, or ALLEMANDE_MTU_BYTES, to what the path carries.",
          datagram_bytes, reason, kSafeDatagramBytes));
    }
  }
  if (!open) return reason;
  if (memory) join_node(std::move(memory));
  return {};
}

// Null: `mine` has the reason.
io::Driver* Communicator::open_driver(PeerRecord& mine) {
  const auto driver = job_.driver();
  if (!driver) {
    set_cause(mine, driver.error().message);
    return nullptr;
  }
  if (!reserve(*driver.value(), mine)) {
    set_cause(mine, "too many communicators are in use");
    return driver.value();
  }
  const io::Endpoint& endpoint = driver.value()->endpoint();
  set_addresses(mine, endpoint, kPathsInUse);
  if (const auto warnings = endpoint.warnings(); !warnings.empty()) {
    set_cause(mine, warnings.front());
  }
  return driver.value();
}

bool Communicator::reserve(io::Driver& driver, PeerRecord& mine) const {
  mine.set = driver.reserve_set();
  bool all = mine.set != 0;
  std::size_t next = 0;
  for (const plan::Plan& phased : phased_) {
    for (std::size_t phase = 0; phase < phased.phases.size(); ++phase) {
      mine.phase_sets[next] = driver.reserve_set();
      all = all && mine.phase_sets[next++] != 0;
    }
  }
  return all;
}

// What was reserved and not registered; nothing happens to the rest.
void Communicator::give_back(io::Driver& driver, const PeerRecord& mine) const {
  driver.remove_set(mine.set);
  for (const std::uint16_t set : mine.phase_sets) driver.remove_set(set);
}

std::unique_ptr<carrier::UdpGroup> Communicator::make_group(io::Driver& driver,
                                                            std::span<const PeerRecord> leaders,
                                                            std::uint32_t datagram_bytes) const {
  io::PeerSet peers;
  peers.config = channel_config(job_.options, tuning_ ? &*tuning_ : nullptr, datagram_bytes);
  peers.identity.key = common_key(leaders);
  peers.identity.self = host_;
  peers.identity.local_set = leaders[host_].set;
  for (const auto& record : leaders) {
    peers.identity.remote_set.push_back(record.set);
    auto addresses = addresses_of(record);
    peers.addresses.push_back(addresses ? std::move(addresses).value()
                                        : std::vector<io::Address>{});
  }
  // Ranks first, since any of them may be lost, then hosts.
  peers.names = rank_names();
  for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
    const bool alone = placement_.count(host) == 1;
    peers.numbers.push_back(alone ? placement_.leader(host) : ranks_ + host);
    peers.names.push_back(host_text(host));
  }
  std::vector<std::vector<std::vector<std::uint16_t>>> phase_sets;
  std::size_t next = 0;
  for (const plan::Plan& phased : phased_) {
    auto& sets = phase_sets.emplace_back(phased.phases.size());
    for (auto& of_phase : sets) {
      for (const PeerRecord& record : leaders) of_phase.push_back(record.phase_sets[next]);
      ++next;
    }
  }
  return std::make_unique<carrier::UdpGroup>(
      driver, std::move(peers), rounds_, phased_, phase_sets,
      carrier::UdpGroup::Hooks{[this] { job_.ops.progress(); },
                               [this](const std::string& text) { job_.log.warning(text); }});
}

// Empty when every pair of hosts has exchanged a full packet. `driver` is null on those who follow.
std::string Communicator::try_hello(io::Driver* driver, std::span<const PeerRecord> leaders,
                                    std::uint32_t datagram_bytes) {
  if (driver != nullptr) group_ = make_group(*driver, leaders, datagram_bytes);
  // Nobody begins before everybody listens.
  std::uint64_t everybody = 0;
  job_.ops.allreduce_min(comm_, everybody);
  std::uint64_t outcome = group_ ? say_hello() : kHelloComplete;
  job_.ops.allreduce_min(comm_, outcome);

  const auto gap = hello_gap(outcome);
  if (!gap) {
    packet_bytes_ = datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
    if (group_) counted_ = group_->counters();
    return {};
  }
  if (group_) group_->close();
  group_.reset();
  return fmt::format(
      "no UDP hello of {} bytes from {} to {} within {} ms (a firewall, or a smaller MTU between "
      "them?)",
      datagram_bytes, host_of_rank(placement_.leader(gap->sender)),
      host_of_rank(placement_.leader(gap->receiver)), job_.options.hello_timeout_ms);
}

std::uint64_t Communicator::say_hello() {
  const std::uint32_t hosts = group_->members();
  auto buffers = make_hello(hosts, host_, group_->packet_bytes());
  transport::Exchange exchange;
  exchange.send = {buffers.send.data(), buffers.bytes, buffers.bytes};
  exchange.recv = {buffers.recv.data(), buffers.bytes, buffers.bytes};
  const auto timeout = job_.options.hello_timeout_ms * base::kMillisecond;
  const auto done = group_->run(
      exchange, io::monotonic_now() + timeout + 4 * hosts * group_->config().packet_time);
  const auto missing = missing_hellos(buffers, host_);
  return done && missing.empty() ? kHelloComplete : hello_outcome(host_, missing);
}

std::string Communicator::open_messages() {
  auto rounds = make_rounds(job_.options, groups_of_ranks(groups_, placement_), ranks_, self_);
  if (!rounds) return rounds.error().message;
  auto made = job_.ops.make_point_to_point(
      comm_, [this](std::uint32_t rank) { return name_of_rank(rank); });
  if (!made) return made.error().message;
  messages_ =
      std::make_unique<carrier::MessageGroup>(std::move(made).value(), std::move(rounds).value());
  return {};
}

// Steps take time to be measured in packets of a known link, and rounds that are one.
void Communicator::watch_counts() {
  if (!group_) return;
  const bool steps = tuning_ && tuning_->packet_time_us > 0 && job_.options.uneven_steps &&
                     rounds_.algorithm == plan::Algorithm::kSyncShuffle;
  if (!steps && (node_ || !on_trial() || !job_.has_native)) return;
  carrier::Counts::Network network;
  if (steps) network = {&*job_.cluster, tuning_->packet_time_us, hosts_};
  counts_ = std::make_unique<carrier::Counts>(*group_, std::move(network));
  if (node_) node_->make_steps_by(*counts_);
}

std::string Communicator::host_of_rank(std::uint32_t rank) const {
  return std::string(mpi::host_of(records_[rank].host));
}

std::string Communicator::name_of_rank(std::uint32_t rank) const {
  return fmt::format("rank {} on {}", rank, host_of_rank(rank));
}

std::vector<std::string> Communicator::rank_names() const {
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    names.push_back(name_of_rank(rank));
  }
  return names;
}

// "h3 (ranks 12, 13, 14, 15)"
std::string Communicator::host_text(std::uint32_t host) const {
  constexpr std::size_t kShown = 4;
  const std::span<const std::uint32_t> ranks = placement_.ranks[host];
  return fmt::format("{} (ranks {}{})", host_of_rank(ranks.front()),
                     fmt::join(ranks.first(std::min(ranks.size(), kShown)), ", "),
                     ranks.size() > kShown ? ", ..." : "");
}

}  // namespace alm::mpi
