#include "ways/repertoire.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carrier/slices.h"
#include "plan/combining.h"
#include "tuning/way_key.h"
#include "ways/plan_settings.h"

namespace alm::ways {
namespace {

// Sizes for which a choice is remembered.
constexpr std::size_t kRememberedMax = 1024;

}  // namespace

base::Status Repertoire::plan(const base::Options& options, const model::Profile* profile,
                              const topology::Cluster* cluster) {
  auto wanted = own_ways_wanted(options, members_);
  if (!wanted) return wanted.error();
  const bool chooses_between_sites = !wanted.value().sites.empty() && !wanted.value().between_sites;
  auto own = tuning::OwnWays::make(std::move(wanted).value());
  if (!own) return own.error();
  own_.emplace(std::move(own).value());
  fixes_leaders_ = fixes_leaders(options);
  foresees_by_profile_ = profile != nullptr && !members_.placement.shared() &&
                         tuning::Forecast::covers(*profile, members_.host_names);
  const plan::Tuning* tuning = members_.tuning ? &*members_.tuning : nullptr;
  if (foresees_by_profile_) {
    own_->foresee(*profile, members_.host_names, tuning);
  } else if (chooses_between_sites && cluster != nullptr) {
    own_->foresee(*cluster, members_.hosts, tuning);
  }
  return {};
}

// A profile is used only where hosts have one rank; a cluster file predicts blocks between hosts.
tuning::Foreseen Repertoire::foreseen(tuning::Way way, std::uint64_t bytes) const {
  return own_->foreseen(key_of(way), members_.host_block(bytes));
}

base::Status Repertoire::plan_messages(const base::Options& options) {
  auto rounds = make_rounds(options, leaves_of_ranks(members_.leaves, members_.placement),
                            members_.ranks, members_.self);
  if (!rounds) return rounds.error();
  message_plan_ = std::move(rounds).value();
  orders_messages_ =
      members_.sites.empty() && (options.algorithm == kAutomatic || options.algorithm == kCombine);
  return plan_messages_between_sites(options);
}

// A rank that forwards blocks must know their size; MPI_Alltoallv tells a rank its own sizes alone.
base::Status Repertoire::plan_messages_between_sites(const base::Options& options) {
  if (members_.sites.empty() || !knows_sites(options)) return {};
  const plan::Placement& placement = members_.placement;
  std::vector<std::uint32_t> site_of;
  for (const std::uint32_t host : placement.host_of) site_of.push_back(members_.sites[host]);
  auto request =
      site_request(options, leaves_of_ranks(members_.leaves, placement), site_of, members_.self);
  if (!request) return request.error();
  auto made = plan::make_plan(request.value());
  if (!made) return made.error();
  site_message_plan_ = std::move(made).value();
  return {};
}

void Repertoire::take_udp(std::uint64_t phases_bytes_max) {
  transport_ = base::Transport::kUdp;
  phases_bytes_max_ = phases_bytes_max;
}

std::size_t Repertoire::phases() const {
  std::size_t count = 0;
  for (const plan::Plan& combining : combining()) count += combining.phases.size();
  return count;
}

bool Repertoire::has_phases(std::uint64_t bytes) const {
  return transport_ == base::Transport::kUdp && !combining().empty() && bytes <= phases_bytes_max_;
}

tuning::Way Repertoire::model_way(std::uint64_t bytes) const {
  if (!has_forecast()) return find_model_way(bytes);
  const std::lock_guard lock(mutex_);
  if (const auto known = model_ways_.find(bytes); known != model_ways_.end()) return known->second;
  if (model_ways_.size() >= kRememberedMax) model_ways_.clear();
  return model_ways_.emplace(bytes, find_model_way(bytes)).first->second;
}

// Equal on all ranks, also on those that do not take part in the exchange of hosts.
tuning::Way Repertoire::find_model_way(std::uint64_t bytes) const {
  if (transport_ != base::Transport::kUdp) return find_message_way(bytes);
  const std::uint64_t of_hosts = members_.host_block(bytes);
  return own_->first(of_hosts, bytes <= phases_bytes_max_, rounds_way(of_hosts));
}

tuning::Way Repertoire::find_message_way(std::uint64_t bytes) const {
  if (!orders_messages_) return {};
  tuning::CandidatesWanted wanted;
  wanted.ranks = members_.ranks;
  wanted.bytes = bytes;
  wanted.over_messages = tuning::first_over_messages(members_.ranks, bytes);
  tuning::Way best = *wanted.over_messages;
  if (!has_forecast()) return best;
  tuning::Foreseen least = foreseen(best, bytes);
  for (const tuning::Way way : tuning::candidates(wanted)) {
    const tuning::Foreseen one = foreseen(way, bytes);
    if (way.kind == tuning::Way::Kind::kNative || !one.comparable(least) || one.time >= least.time)
      continue;
    best = way;
    least = one;
  }
  return best;
}

tuning::Way Repertoire::rounds_way(std::uint64_t host_bytes) const {
  return sharing(host_bytes) == tuning::Sharing::kFixed ? tuning::kSharedWay : tuning::Way{};
}

tuning::Way Repertoire::blocks_way() const {
  const auto between_sites = own_->any_size_between_sites();
  const bool over_udp = transport_ == base::Transport::kUdp;
  if (over_udp && between_sites && !members_.placement.shared()) return *between_sites;
  return rounds_way(carrier::kSharedBytesMin);
}

// Whether leaders share messages of so many bytes between hosts.
tuning::Sharing Repertoire::sharing(std::uint64_t host_bytes) const {
  const bool several = transport_ == base::Transport::kUdp && members_.leaders > 1;
  if (!several || host_bytes < carrier::kSharedBytesMin) return tuning::Sharing::kNone;
  return fixes_leaders_ ? tuning::Sharing::kFixed : tuning::Sharing::kTried;
}

std::vector<tuning::Way> Repertoire::candidates(std::uint64_t bytes) const {
  tuning::CandidatesWanted wanted;
  wanted.ranks = members_.ranks;
  wanted.bytes = bytes;
  wanted.sharing = sharing(members_.host_block(bytes));
  wanted.library = library_;
  if (transport_ != base::Transport::kUdp) wanted.over_messages = model_way(bytes);
  if (has_phases(bytes)) {
    wanted.packet_bytes = own_->packet_bytes();
    wanted.members = members_.placement.hosts();
    wanted.member_bytes = members_.host_block(bytes);
    const tuning::Way model = model_way(bytes);
    if (model.kind == tuning::Way::Kind::kPhased) wanted.model = model.index;
    // In plans for sites the packets differ from rank to rank, so they cannot be compared by
    // packets.
    if (!own_->know_sites() || foreseen(model, bytes).known()) wanted.combining = combining();
  }
  std::vector<std::pair<tuning::Way, tuning::Foreseen>> known;  // asked for again and again
  if (has_forecast()) {
    wanted.foreseen = [&](tuning::Way way) {
      for (const auto& [of, what] : known) {
        if (of == way) return what;
      }
      return known.emplace_back(way, foreseen(way, bytes)).second;
    };
  }
  return tuning::candidates(wanted);
}

std::vector<tuning::Way> Repertoire::candidates_for_blocks(std::uint64_t load) const {
  std::vector<tuning::Way> ways = {blocks_way(), tuning::kNativeWay};
  const std::uint64_t others = std::max(1u, members_.placement.hosts() - 1);
  const std::uint64_t between_hosts = load * members_.placement.most() / others;
  if (sharing(between_hosts) == tuning::Sharing::kTried) ways.push_back(tuning::kSharedWay);
  return ways;
}

std::uint64_t Repertoire::packets_of(tuning::Way way, std::uint64_t bytes) const {
  if (!goes_over_udp(way)) return 0;
  const std::uint64_t block = members_.host_block(bytes);
  const std::uint32_t packet = own_->packet_bytes();
  return way.kind == tuning::Way::Kind::kPhased
             ? plan::traffic_of(combining()[way.index], block, packet).packets
             : plan::direct_traffic(members_.placement.hosts(), block, packet).packets;
}

const plan::Plan& Repertoire::plan_in_use() const {
  if (transport_ == base::Transport::kUdp) return plan_of_hosts();
  return site_message_plan_ ? *site_message_plan_ : message_plan_;
}

std::string Repertoire::key_of(tuning::Way way) const {
  switch (way.kind) {
    case tuning::Way::Kind::kNative:
      return tuning::is_told(way) ? fmt::format("{}{}", tuning::kToldLibrary,
                                                tuning::name_of(tuning::algorithm_of(way)))
                                  : std::string(tuning::kLibrary);
    case tuning::Way::Kind::kMessages:
      return fmt::format("mpi {}", tuning::key_of(static_cast<plan::MessageOrder>(way.index)));
    case tuning::Way::Kind::kPhased:
      return own_->key_of(way);
    case tuning::Way::Kind::kShared:
      return fmt::format("{} leaders:{}", own_->key_of({}), members_.leaders);
    case tuning::Way::Kind::kRounds:
      break;
  }
  return transport_ == base::Transport::kUdp ? own_->key_of(way) : "mpi " + plan_in_use().identity;
}

std::string Repertoire::name_of(tuning::Way way) const {
  constexpr std::string_view kOverMessages = " over MPI point-to-point messages";
  switch (way.kind) {
    case tuning::Way::Kind::kNative:
      return tuning::is_told(way)
                 ? fmt::format("{} by the MPI library", tuning::name_of(tuning::algorithm_of(way)))
                 : "the MPI library";
    case tuning::Way::Kind::kMessages:
      return fmt::format("{}{}", plan::name_of(static_cast<plan::MessageOrder>(way.index)),
                         kOverMessages);
    case tuning::Way::Kind::kPhased:
      return plan::text_of(combining()[way.index]) + " over UDP";
    case tuning::Way::Kind::kShared:
      return fmt::format("{} over UDP by {} leaders per host", plan::text_of(plan_of_hosts()),
                         members_.leaders);
    case tuning::Way::Kind::kRounds:
      break;
  }
  return plan::text_of(plan_in_use()) +
         std::string(transport_ == base::Transport::kUdp ? " over UDP" : kOverMessages);
}

}  // namespace alm::ways
