#include "courier/courier.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "courier/flows.h"
#include "courier/size_check.h"
#include "job/settings.h"
#include "meeting/hello_exchange.h"
#include "ways/plan_settings.h"

namespace alm::courier {
namespace {

// Half of what sockets take at least (EndpointOptions::receive_packets_min). The cluster file's own
// window keeps the links as busy, with a quarter more wake-ups (docs/measurements/0011).
constexpr std::uint32_t kUnsharedWindow = 64;

const base::Error kRevoked{base::ErrorCode::kPeerLost, "the communicator was revoked"};

constexpr base::Nanos kLookInterval = 100 * base::kMillisecond;  // at what the library knows
// Ranks that end because another is lost are dead as well. The one that the library tells of first
// counts, and only where packets do not tell by then who is lost.
constexpr base::Nanos kDeathPatience = 2 * base::kSecond;

transport::Exchange equal_blocks(const Staging& staging, std::uint64_t bytes) {
  transport::Exchange exchange;
  exchange.send.base = staging.send();
  exchange.recv.base = staging.recv();
  exchange.send.stride = exchange.recv.stride = bytes;
  exchange.send.bytes = exchange.recv.bytes = bytes;
  return exchange;
}

}  // namespace

void Courier::open_udp_group(io::Driver& driver, io::PeerSet peers,
                             std::span<const std::vector<std::uint16_t>> phase_sets,
                             carrier::UdpGroup::Shared shared) {
  std::vector<plan::Plan> plans;
  if (job_.mpi != nullptr) world_ranks_ = job_.mpi->ranks_in_world(comm_);
  std::vector<std::vector<std::vector<std::uint16_t>>> sets;
  std::size_t next = 0;
  if (members_.leads()) plans.assign(ways_.combining().begin(), ways_.combining().end());
  for (const plan::Plan& combining : plans) {
    auto& of_plan = sets.emplace_back();
    for (std::size_t phase = 0; phase < combining.phases.size(); ++phase) {
      of_plan.push_back(phase_sets[next++]);
    }
  }
  udp_group_ = std::make_unique<carrier::UdpGroup>(
      driver, std::move(peers), plan_with_paths(), std::move(plans), sets, std::move(shared),
      carrier::UdpGroup::Hooks{[this] {
                                 job_.bootstrap.progress();
                                 learn_of_deaths();
                                 end_with_host();
                               },
                               {[this](const std::string& text) { job_.log.warning(text); },
                                [this] { return std::string(function_.load()); }},
                               phase_configuration(driver)});
}

// Phases within and between sites have windows and timers of their own.
std::function<void(const plan::Phase&, transport::Config&)> Courier::phase_configuration(
    const io::Driver& driver) const {
  if (members_.sites.empty()) return {};
  const std::uint32_t held = driver.endpoint().receive_buffer_bytes();
  return [phases = site_phases(job_, members_), bounded = job_.cluster.has_value(), held](
             const plan::Phase& phase, transport::Config& config) {
    phases.configure(config, phase);
    if (phase.reach != plan::Reach::kNear || !bounded) return;
    const std::uint32_t fit = io::packets_that_fit(held, config.datagram_bytes);
    config.window_packets = std::clamp(config.window_packets, 1u, std::max(1u, fit));
  };
}

// Paths are assigned by all ranks alike, from what all of them send.
plan::Plan Courier::plan_with_paths() const {
  plan::Plan plan = ways_.plan_of_hosts();
  const std::uint32_t hosts = members_.placement.hosts();
  if (!assigns_routes()) return plan;
  std::vector<std::vector<base::PeerId>> sends;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const auto rounds = ways::make_rounds(job_.options, members_.leaves, hosts, host);
    sends.push_back(rounds.value().rounds().send);
  }
  plan.phases.front().rounds.paths = meeting::assigned_paths(members_.routes, members_.host, sends);
  return plan;
}

bool Courier::assigns_routes() const {
  return meeting::assigns_paths(job_.options, members_.routes);
}

// The library may know long before silence tells.
void Courier::learn_of_deaths() {
  if (world_ranks_.empty()) return;
  const base::Nanos now = io::monotonic_now();
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
  if (revoked()) return udp_group_->give_up(kRevoked.message, members_.self);
  if (!dead_) look_for_deaths(now);
  if (!dead_ || now - death_seen_ < kDeathPatience) return;
  udp_group_->give_up(members_.name_of(*dead_) + " is lost: the MPI library knows it has died",
                      *dead_);
}

bool Courier::revoked() {
  return life_->ask([this] { return job_.mpi->is_revoked(comm_); });
}

// On ranks that lead nobody.
void Courier::end_where_revoked() {
  const base::Nanos now = io::monotonic_now();
  if (udp_group_ || job_.mpi == nullptr || now < next_look_) return;
  next_look_ = now + kLookInterval;
  if (revoked()) host_->node().fail(kRevoked, members_.self);
}

void Courier::look_for_deaths(base::Nanos now) {
  const auto lost = job_.mpi->lost_ranks();
  const auto first =
      std::find_first_of(lost.begin(), lost.end(), world_ranks_.begin(), world_ranks_.end());
  if (first == lost.end()) return;
  const auto found = std::find(world_ranks_.begin(), world_ranks_.end(), *first);
  dead_ = static_cast<std::uint32_t>(found - world_ranks_.begin());
  death_seen_ = now;
}

// Where another leader of the host has lost somebody, this one would wait in vain for the rest.
void Courier::end_with_host() {
  if (!host_ || members_.leaders == 1) return;
  const auto lost = host_->node().lost();
  if (lost) udp_group_->give_up(*host_->node().failure(), *lost);
}

void Courier::close_udp_group() {
  if (udp_group_) udp_group_->close();
  udp_group_.reset();
}

std::uint64_t Courier::say_hello() {
  const std::uint32_t hosts = udp_group_->members();
  auto buffers = meeting::make_hello(hosts, members_.host, udp_group_->packet_bytes());
  transport::Exchange exchange;
  exchange.send = {buffers.send.data(), buffers.bytes, buffers.bytes};
  exchange.recv = {buffers.recv.data(), buffers.bytes, buffers.bytes};
  const auto timeout = job::hello_timeout(job_.options);
  const auto done = udp_group_->run(
      exchange, io::monotonic_now() + timeout + 4 * hosts * udp_group_->config().packet_time);
  const auto missing = meeting::missing_hellos(buffers, members_.host);
  return done && missing.empty() ? meeting::kHelloComplete
                                 : meeting::hello_outcome(members_.host, missing);
}

void Courier::begin_together() {
  const std::byte here{1};
  std::vector<std::byte> all(udp_group_->members());
  // Should it fail, the first call fails for the same reason.
  static_cast<void>(udp_group_->gather({&here, 1}, all));
}

void Courier::take_udp(std::unique_ptr<node::NodeMemory> memory) {
  udp_ = true;
  if (udp_group_) counted_ = udp_group_->counters();
  if (memory) {
    node::Node::Settings settings;
    settings.peer_warning = job::peer_warning(job_.options);
    settings.peer_timeout = job::peer_timeout(job_.options);
    settings.progress = [this] {
      job_.bootstrap.progress();
      end_where_revoked();
    };
    settings.warn = [this](const std::string& text) { job_.log.warning(text); };
    settings.call = [this] { return std::string(function_.load()); };
    settings.leaders_max = members_.leaders;
    if (udp_group_ && members_.leaders > 1) settings.loss = [this] { return udp_group_->loss(); };
    host_ = std::make_unique<carrier::NodeExchange>(
        std::make_unique<node::Node>(std::move(memory), members_.placement.ranks[members_.host],
                                     members_.rank_names(), std::move(settings)),
        members_.placement, members_.self, udp_group_.get(), members_.leaders);
  }
  if (udp_group_) make_steps();
}

void Courier::make_steps() {
  // Steps take time to be measured in packets of a known link, and rounds that are one. Routes are
  // spread over without that.
  const auto& tuning = members_.tuning;
  const bool possible =
      job_.options.uneven_steps && ways_.plan_of_hosts().algorithm == plan::Algorithm::kSyncShuffle;
  const bool steps = possible && tuning && tuning->packet_time_us > 0;
  const bool spreads = possible && assigns_routes();
  const bool trials = !host_ && ways::wants_trials(job_.options) && job_.mpi != nullptr;
  if (!steps && !spreads && !trials) return;
  carrier::UnevenSteps::Network network;
  if (steps) network = {&*job_.cluster, tuning->packet_time_us, members_.hosts};
  if (job_.options.window_packets == 0) network.unshared_window = kUnsharedWindow;
  if (spreads) {
    network.paths = [this](std::span<const std::uint64_t> bytes,
                           std::span<const base::PeerId> send) {
      return meeting::assigned_paths(members_.routes, members_.host, bytes, send);
    };
  }
  if (members_.leaders > 1) {
    slice_steps_ = std::make_unique<carrier::UnevenSteps>(*udp_group_, network);
  }
  if (members_.leads()) {
    uneven_steps_ = std::make_unique<carrier::UnevenSteps>(*udp_group_, std::move(network));
  }
  if (host_) host_->make_steps_by(uneven_steps_.get(), slice_steps_.get());
}

std::uint64_t Courier::phases_bytes_max() const {
  return host_ ? host_->piece_bytes() : std::numeric_limits<std::uint64_t>::max();
}

base::Status Courier::open_messages() {
  auto made = job_.mpi->make_point_to_point(
      comm_, [this](std::uint32_t rank) { return members_.name_of(rank); },
      job_.options.time_scale);
  if (!made) return made.error();
  const auto flow_of = [&](const plan::Phase& phase) {
    return phase.reach == plan::Reach::kFar ? far_message_flow(job_, members_, phase)
                                            : message_flow(job_, members_);
  };
  messages_ = std::make_unique<carrier::MessageGroup>(std::move(made).value(), ways_.message_plan(),
                                                      flow_of, ways_.site_message_plan());
  return {};
}

void Courier::begin_call(const char* function) {
  function_ = function;
  ++calls_;
  note(std::nullopt);
}

void Courier::goes_elsewhere(std::optional<std::uint64_t> bytes) {
  if (!bytes) calls_ = transport::Attendance::kNoFurtherCall;
  note(bytes.value_or(0));
}

void Courier::note(std::optional<std::uint64_t> elsewhere) {
  const std::lock_guard lock(mutex_);
  if (udp_group_) udp_group_->begin(calls_, elsewhere);
  if (host_) host_->node().begin(calls_, elsewhere);
}

void Courier::burst(std::uint64_t bytes, base::Nanos call) {
  using Rules = tuning::TrialRules;
  if (!udp_group_ || members_.leader() != 0) return;
  const std::uint32_t most = members_.placement.most();
  const auto time = static_cast<double>(call) * Rules::kBurstTime;
  udp_group_->fill(Rules::kBurstPackets * most * most, bytes, static_cast<base::Nanos>(time));
}

base::Status Courier::alltoall(tuning::Way way, const Staging& staged, std::uint64_t bytes) {
  auto done = take(way, staged, bytes);
  // Ranks whose size sends them over messages wait for this one there.
  if (!done && done.error().code == base::ErrorCode::kBadInput && ways_.goes_over_udp(way) &&
      messages_) {
    messages_->give_up();
  }
  const auto more = count();
  job_.stats.update([&](job::StatsRecord& stats) {
    ++stats.exchanges;
    auto& line = stats.size(bytes);
    ++line.exchanges;
    line.packets += more.data_sent;
    line.retransmitted += more.data_retransmitted;
  });
  return done;
}

base::Status Courier::take(tuning::Way way, const Staging& staged, std::uint64_t bytes) {
  const bool phased = way.kind == tuning::Way::Kind::kPhased;
  if (host_ && ways_.goes_over_udp(way)) {
    return host_->alltoall(
        staged.send(), staged.recv(), bytes,
        {phased ? std::optional<std::size_t>(way.index) : std::nullopt, way == tuning::kSharedWay});
  }
  if (phased) {
    return udp_group_->run_combining(way.index, {staged.send(), bytes, bytes},
                                     {staged.recv(), bytes, bytes}, {.each = bytes});
  }
  if (way.kind != tuning::Way::Kind::kMessages) return in_rounds(equal_blocks(staged, bytes));
  return by_messages([&] {
    const auto order = static_cast<plan::MessageOrder>(way.index);
    return messages_->run(order, staged.send(), staged.recv(), bytes);
  });
}

base::Status Courier::in_rounds(transport::Exchange exchange) {
  if (udp_) return udp_group_->run(exchange);
  execute::Amounts amounts;
  amounts.each = exchange.send.bytes;
  amounts.sends = exchange.send.size;
  amounts.receives = exchange.recv.size;
  return by_messages([&] { return messages_->run(exchange.send, exchange.recv, amounts); });
}

base::Status Courier::by_messages(const std::function<base::Status()>& send) {
  const std::uint64_t before = messages_->messages_sent();
  auto done = send();
  if (!done) tell_others(done.error());
  job_.stats.update(
      [&](job::StatsRecord& stats) { stats.mpi_messages += messages_->messages_sent() - before; });
  return done;
}

base::Result<std::uint64_t> Courier::tell_counts(
    std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv,
    const std::function<bool(std::uint64_t load)>& wants_steps) {
  if (auto told = uneven_steps_->prepare(send, recv, wants_steps); !told) return told.error();
  return uneven_steps_->load();
}

base::Status Courier::alltoall_blocks(tuning::Way way, const BlockStaging& staged, Counts counts,
                                      std::uint64_t most) {
  const auto sends = staged.send().size;
  const auto expects = staged.recv().size;
  if (!udp_) {
    if (auto differ = compare_sizes(job_.bootstrap, comm_, members_, sends, expects)) {
      if (!differ->known_to_all) tell_others(differ->error);
      return std::move(differ->error);
    }
  } else if (uneven_steps_ && !host_ && counts == Counts::kUntold) {
    if (auto known = uneven_steps_->prepare(sends, expects); !known) return known;
  }
  auto done = send_blocks(way, staged, counts, most);
  count();  // of no message size
  job_.stats.update([](job::StatsRecord& stats) { ++stats.exchanges; });
  return done;
}

base::Status Courier::send_blocks(tuning::Way way, const BlockStaging& staged, Counts counts,
                                  std::uint64_t most) {
  transport::Exchange exchange;
  exchange.send = staged.send();
  exchange.recv = staged.recv();
  const bool shared = way == tuning::kSharedWay;
  if (host_ && counts == Counts::kOfNeighbours) {
    return host_->alltoall_neighbours(exchange.send, exchange.recv, most, shared);
  }
  if (host_) return host_->alltoall_blocks(exchange.send, exchange.recv, shared);
  if (uneven_steps_ && counts != Counts::kOfNeighbours) return uneven_steps_->run(exchange);
  if (udp_) return udp_group_->run_blocks(exchange);
  return in_rounds(exchange);
}

// What the group has done since it was last asked.
transport::Counters Courier::count() {
  if (!udp_group_) return {};
  job_.check_rate();
  const auto now = udp_group_->counters();
  auto more = now;
  more.data_sent -= counted_.data_sent;
  more.data_retransmitted -= counted_.data_retransmitted;
  counted_ = now;
  return more;
}

void Courier::tell_others(const base::Error& error) {
  if (host_) host_->node().fail(error, members_.self);
  if (udp_group_) udp_group_->give_up(error.message, members_.self);
  if (messages_) messages_->give_up();
}

void Courier::share_failure(bool leaves_messages) {
  if (leaves_messages && messages_) messages_->give_up();
  if (!udp_group_) return;
  const auto lost = host_ ? host_->node().lost() : std::nullopt;
  if (lost) {
    udp_group_->give_up(*host_->node().failure(), *lost);
  } else {
    udp_group_->share_failure();
  }
}

base::Status Courier::sizes_fit() { return udp_group_ ? udp_group_->trouble() : base::Status{}; }

void Courier::close() {
  const std::lock_guard lock(mutex_);
  if (udp_group_) {
    const auto sum = udp_group_->counters();
    job_.stats.update([&](job::StatsRecord& stats) { stats.channel += sum; });
    udp_group_->close();
  }
  host_.reset();
  uneven_steps_.reset();
  slice_steps_.reset();
  udp_group_.reset();
  // Where messages could not be ended, MPI may still use what they were sent from and come into.
  if (messages_ && !messages_->ended()) messages_->keep(memory_);
  messages_.reset();
}

transport::Counters Courier::traffic() const {
  const std::lock_guard lock(mutex_);
  return udp_group_ ? udp_group_->counters() : transport::Counters{};
}

std::string Courier::settings_text() const {
  const std::lock_guard lock(mutex_);
  if (!udp_group_) return {};
  return host_ ? fmt::format("{}, {}", udp_group_->settings_text(), members_.placement.text())
               : udp_group_->settings_text();
}

}  // namespace alm::courier
