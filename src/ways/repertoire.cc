#include "ways/repertoire.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carrier/slices.h"
#include "plan/multi_site.h"
#include "ways/plan_settings.h"

namespace alm::ways {
namespace {

// Sizes for which a choice is remembered.
constexpr std::size_t kRememberedMax = 1024;

std::string_view transport_key(base::Transport transport) {
  return transport == base::Transport::kUdp ? "udp" : "mpi";
}

}  // namespace

base::Status Repertoire::plan(const base::Options& options, const model::Profile* profile,
                              const topology::Cluster* cluster) {
  const plan::Placement& placement = members_.placement;
  auto rounds = make_rounds(options, members_.leaves, placement.hosts(), members_.host);
  if (!rounds) return rounds.error();
  plan_ = std::move(rounds).value();
  const bool foreseeing = profile != nullptr && !placement.shared() &&
                          tuning::Forecast::covers(*profile, members_.host_names);
  combining_ = make_phased(options, members_.leaves, placement.hosts(), members_.host,
                           foreseeing ? plan::Keep::kAll : plan::Keep::kUseful);
  always_combines_ = options.algorithm == kCombine;
  if (!members_.sites.empty()) {
    if (auto planned = plan_for_sites(options); !planned) return planned;
  }
  fixes_leaders_ = fixes_leaders(options);
  if (foreseeing) {
    foresee(*profile, members_.host_names);
  } else if (site_request_ && !names_site_way_ && cluster != nullptr) {
    foresee(*cluster);
  }
  return {};
}

base::Status Repertoire::plan_for_sites(const base::Options& options) {
  names_site_way_ = knows_sites(options);
  auto request = site_request(options, members_.leaves, members_.sites, members_.host);
  if (!request) return request.error();
  site_request_ = std::move(request).value();
  auto made = names_site_way_ ? make_site_plans(*site_request_) : all_site_plans(*site_request_);
  if (!made) return made.error();
  site_plans_ = combining_.size();
  for (plan::Plan& one : made.value()) combining_.push_back(std::move(one));
  return {};
}

void Repertoire::foresee(const model::Profile& profile, const std::vector<std::string>& hosts) {
  forecast_ = std::make_unique<tuning::Forecast>(profile, hosts, members_.sites);
  const plan::Tuning* tuning = members_.tuning && site_request_ ? &*members_.tuning : nullptr;
  forecast_->add(plan_, members_.leaves, tuning);
  for (const plan::Plan& combining : combining_) {
    forecast_->add(combining, members_.leaves, tuning);
  }
}

void Repertoire::foresee(const topology::Cluster& cluster) {
  network_.emplace();
  for (const base::HostId host : members_.hosts) {
    network_->hosts.push_back(cluster.hosts[host.value].name);
  }
  network_->cluster = cluster;
  foresee(*network_, network_->hosts);
}

// A profile is used only where hosts have one rank; a cluster file predicts blocks between hosts.
tuning::Foreseen Repertoire::foreseen(tuning::Way way, std::uint64_t bytes) const {
  return forecast_ ? forecast_->of(key_of(way), members_.host_block(bytes)) : tuning::Foreseen{};
}

base::Status Repertoire::plan_messages(const base::Options& options) {
  auto rounds = make_rounds(options, leaves_of_ranks(members_.leaves, members_.placement),
                            members_.ranks, members_.self);
  if (!rounds) return rounds.error();
  message_plan_ = std::move(rounds).value();
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

void Repertoire::take_udp(std::uint32_t packet_bytes, std::uint64_t phases_bytes_max) {
  transport_ = base::Transport::kUdp;
  packet_bytes_ = packet_bytes;
  phases_bytes_max_ = phases_bytes_max;
  if (site_request_ && site_request_->algorithm == plan::Algorithm::kMultiSite) {
    site_combined_max_ = plan::combined_bytes_max(*site_request_, packet_bytes);
  }
}

std::size_t Repertoire::phases() const {
  std::size_t count = 0;
  for (const plan::Plan& combining : combining_) count += combining.phases.size();
  return count;
}

bool Repertoire::has_phases(std::uint64_t bytes) const {
  return transport_ == base::Transport::kUdp && !combining_.empty() && bytes <= phases_bytes_max_;
}

// Equal on all ranks, also on those that do not take part in the exchange of hosts.
std::optional<std::size_t> Repertoire::choose_combining(std::uint64_t bytes) const {
  if (!has_phases(bytes)) return std::nullopt;
  return plan::choose_combining(combining_, members_.host_block(bytes), packet_bytes_);
}

tuning::Way Repertoire::model_way(std::uint64_t bytes) const {
  if (!forecast_) return find_model_way(bytes);
  const std::lock_guard lock(mutex_);
  if (const auto known = model_ways_.find(bytes); known != model_ways_.end()) return known->second;
  if (model_ways_.size() >= kRememberedMax) model_ways_.clear();
  return model_ways_.emplace(bytes, find_model_way(bytes)).first->second;
}

// The way with the fewest packets, or a way that is faster than it by the profile.
tuning::Way Repertoire::find_model_way(std::uint64_t bytes) const {
  tuning::Way best = way_by_packets(bytes);
  if (!forecast_ || !has_phases(bytes) || names_site_way_) return best;
  tuning::Foreseen least = foreseen(best, bytes);
  std::vector<tuning::Way> ways;
  if (!always_combines_) ways.emplace_back();
  for (std::size_t i = 0; i < combining_.size(); ++i) ways.push_back(tuning::phased_way(i));
  for (const tuning::Way way : ways) {
    const tuning::Foreseen one = foreseen(way, bytes);
    if (!one.comparable(least) || one.time >= least.time) continue;
    best = way;
    least = one;
  }
  return best;
}

tuning::Way Repertoire::way_of_sites(std::uint64_t bytes) const {
  // Larger blocks of hosts with several ranks go piece by piece, by the same plan.
  if (transport_ != base::Transport::kUdp || combining_.empty()) return {};
  const bool combines = members_.host_block(bytes) <= site_combined_max_;
  return tuning::phased_way(site_plans_ + (combines ? 1 : 0));
}

tuning::Way Repertoire::way_by_packets(std::uint64_t bytes) const {
  if (site_request_) return way_of_sites(bytes);
  if (const auto chosen = choose_combining(bytes)) return tuning::phased_way(*chosen);
  if (always_combines_ && has_phases(bytes)) return tuning::phased_way(0);
  const bool shares = sharing(members_.host_block(bytes)) == tuning::Sharing::kFixed;
  return shares ? tuning::kSharedWay : tuning::Way{};
}

tuning::Way Repertoire::blocks_way() const {
  const bool direct = site_request_ && site_request_->algorithm == plan::Algorithm::kMultiSite;
  const bool over_udp = transport_ == base::Transport::kUdp && !combining_.empty();
  if (over_udp && direct && !members_.placement.shared()) {
    return tuning::phased_way(site_plans_);
  }
  const bool shares = sharing(carrier::kSharedBytesMin) == tuning::Sharing::kFixed;
  return shares ? tuning::kSharedWay : tuning::Way{};
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
  if (has_phases(bytes)) {
    wanted.packet_bytes = packet_bytes_;
    wanted.members = members_.placement.hosts();
    wanted.member_bytes = members_.host_block(bytes);
    const tuning::Way model = model_way(bytes);
    if (model.kind == tuning::Way::Kind::kPhased) wanted.model = model.index;
    // In plans for sites the packets differ from rank to rank, so they cannot be compared by
    // packets.
    if (!site_request_ || foreseen(model, bytes).known()) wanted.combining = combining_;
  }
  std::vector<std::pair<tuning::Way, tuning::Foreseen>> known;  // asked for again and again
  if (forecast_) {
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
  return way.kind == tuning::Way::Kind::kPhased
             ? plan::traffic_of(combining_[way.index], block, packet_bytes_).packets
             : plan::direct_traffic(members_.placement.hosts(), block, packet_bytes_).packets;
}

const plan::Plan& Repertoire::plan_in_use() const {
  if (transport_ == base::Transport::kUdp) return plan_;
  return site_message_plan_ ? *site_message_plan_ : message_plan_;
}

std::string Repertoire::key_of(tuning::Way way) const {
  switch (way.kind) {
    case tuning::Way::Kind::kNative:
      return "library";
    case tuning::Way::Kind::kMessages:
      return fmt::format("mpi {}", tuning::key_of(static_cast<plan::MessageOrder>(way.index)));
    case tuning::Way::Kind::kPhased:
      return "udp " + combining_[way.index].identity;
    case tuning::Way::Kind::kShared:
      return fmt::format("udp {} leaders:{}", plan_.identity, members_.leaders);
    case tuning::Way::Kind::kRounds:
      break;
  }
  return fmt::format("{} {}", transport_key(transport_), plan_in_use().identity);
}

std::string Repertoire::name_of(tuning::Way way) const {
  constexpr std::string_view kOverMessages = " over MPI point-to-point messages";
  switch (way.kind) {
    case tuning::Way::Kind::kNative:
      return "the MPI library";
    case tuning::Way::Kind::kMessages:
      return fmt::format("{}{}", plan::name_of(static_cast<plan::MessageOrder>(way.index)),
                         kOverMessages);
    case tuning::Way::Kind::kPhased:
      return plan::text_of(combining_[way.index]) + " over UDP";
    case tuning::Way::Kind::kShared:
      return fmt::format("{} over UDP by {} leaders per host", plan::text_of(plan_),
                         members_.leaders);
    case tuning::Way::Kind::kRounds:
      break;
  }
  return plan::text_of(plan_in_use()) +
         std::string(transport_ == base::Transport::kUdp ? " over UDP" : kOverMessages);
}

}  // namespace alm::ways
