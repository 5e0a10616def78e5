#include "carrier/udp_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace alm::carrier {
namespace {

// The peers of one phase: those of the whole communicator that are members of it.
io::PeerSet peers_of(const plan::Phase& phase, const io::PeerSet& all,
                     std::span<const std::uint16_t> sets) {
  io::PeerSet peers;
  peers.config = all.config;
  peers.identity.key = all.identity.key;
  peers.identity.self = phase.self;
  peers.names = all.names;
  peers.family = all.family;
  const std::size_t members = phase.members.empty() ? all.addresses.size() : phase.members.size();
  for (base::PeerId peer = 0; peer < members; ++peer) {
    const std::uint32_t member = phase.rank_of(peer).value;
    peers.identity.remote_set.push_back(sets[member]);
    peers.addresses.push_back(all.addresses[member]);
    if (member < all.tuples.size()) peers.tuples.push_back(all.tuples[member]);
    peers.numbers.push_back(all.numbers.empty() ? member : all.numbers[member]);
  }
  peers.identity.local_set = peers.identity.remote_set[phase.self];
  return peers;
}

// For one of several that have a part of the host's link each.
transport::Config shared_by(std::uint32_t parts, transport::Config config) {
  // 0 has a meaning of its own.
  for (std::uint32_t* window :
       {&config.window_packets, &config.single_window_packets, &config.seeks_from,
        &config.refuted_seeks_from, &config.refuted_window_packets}) {
    if (*window > 0) *window = std::max(1u, *window / parts);
  }
  config.burst_packets /= parts;
  config.packet_time *= parts;
  config.link_time *= parts;
  config.limit_time *= parts;
  return config;
}

// That which goes between sites and takes blocks of any size.
std::optional<std::size_t> find_site_plan(std::span<const plan::Plan> plans) {
  const auto found = std::find_if(plans.begin(), plans.end(), [](const plan::Plan& plan) {
    const bool parted =
        std::none_of(plan.phases.begin(), plan.phases.end(),
                     [](const plan::Phase& phase) { return phase.reach == plan::Reach::kAny; });
    return parted && !plan.forwards();
  });
  if (found == plans.end()) return std::nullopt;
  return static_cast<std::size_t>(found - plans.begin());
}

// The phases of one plan, each over a set of peers of its own.
class UdpPhases final : public execute::Carrier {
 public:
  UdpPhases(io::Driver& driver, std::vector<std::uint16_t> sets, const UdpGroup::Hooks& hooks)
      : driver_(driver), sets_(std::move(sets)), hooks_(hooks) {}

  base::Status start(std::size_t phase, const transport::Exchange& exchange) override {
    return driver_.start(sets_[phase], exchange);
  }
  void make_ready(std::size_t phase, base::PeerId peer) override {
    driver_.make_ready(sets_[phase], peer);
  }
  base::Result<Event> await() override {
    const auto event = driver_.await(sets_, hooks_.progress, hooks_.warn);
    if (!event) return event.error();
    return Event{event.value().index, event.value().arrived};
  }

 private:
  io::Driver& driver_;
  std::vector<std::uint16_t> sets_;  // by phase
  const UdpGroup::Hooks& hooks_;
};

}  // namespace

UdpGroup::UdpGroup(io::Driver& driver, io::PeerSet peers, plan::Plan plan,
                   std::vector<plan::Plan> combining,
                   std::span<const std::vector<std::vector<std::uint16_t>>> phase_sets,
                   Shared shared, Hooks hooks)
    : driver_(driver),
      members_(static_cast<std::uint32_t>(peers.addresses.size())),
      self_(peers.identity.self),
      set_(peers.identity.local_set),
      shared_set_(set_),
      sets_{set_},
      config_(peers.config),
      plan_(std::move(plan)),
      plans_(std::move(combining)),
      site_plan_(find_site_plan(plans_)),
      hooks_(std::move(hooks)) {
  peers.family = set_;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    std::vector<std::uint16_t> sets;
    for (std::size_t phase = 0; phase < plans_[i].phases.size(); ++phase) {
      auto of_phase = peers_of(plans_[i].phases[phase], peers, phase_sets[i][phase]);
      if (hooks_.configure) hooks_.configure(plans_[i].phases[phase], of_phase.config);
      sets.push_back(of_phase.identity.local_set);
      driver_.add_set(sets.back(), std::move(of_phase));
    }
    sets_.insert(sets_.end(), sets.begin(), sets.end());
    executions_.emplace_back(plans_[i]);
    carriers_.push_back(std::make_unique<UdpPhases>(driver_, std::move(sets), hooks_));
  }
  for (io::PeerSet& lane : shared.lanes) {
    lane.family = set_;
    lane.config = shared_by(shared.leaders * shared.leaders, config_);
    lanes_.push_back(lane.identity.local_set);
    driver_.add_set(lanes_.back(), std::move(lane));
  }
  sets_.insert(sets_.end(), lanes_.begin(), lanes_.end());
  if (shared.sets.empty()) {
    peers.config = config_ = shared_by(shared.leaders, config_);
  } else {
    io::PeerSet sharing = peers;
    sharing.config = shared_by(shared.leaders, config_);
    sharing.identity.remote_set = std::move(shared.sets);
    sharing.identity.local_set = shared_set_ = sharing.identity.remote_set[self_];
    sets_.push_back(shared_set_);
    driver_.add_set(shared_set_, std::move(sharing));
  }
  driver_.add_set(set_, std::move(peers));
}

void UdpGroup::close() {
  for (const std::uint16_t set : sets_) driver_.remove_set(set);
}

std::uint32_t UdpGroup::packet_bytes() const { return config_.datagram_bytes - wire::kHeaderBytes; }

base::Status UdpGroup::run(const transport::Exchange& exchange, base::Nanos deadline) {
  return run_on(set_, exchange, deadline);
}

base::Status UdpGroup::run_shared(const transport::Exchange& exchange) {
  return run_on(shared_set_, exchange, base::kNever);
}

void UdpGroup::fill(std::uint32_t times, std::uint64_t bytes, base::Nanos time) {
  const std::uint64_t packets = times * ((bytes + packet_bytes() - 1) / packet_bytes());
  driver_.fill(set_, static_cast<std::uint32_t>(packets),
               static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, packet_bytes())), time,
               hooks_.progress);
}

base::Status UdpGroup::run_lanes(std::span<const transport::Exchange> exchanges) {
  base::Status status;
  for (std::size_t lane = 0; status && lane < exchanges.size(); ++lane) {
    transport::Exchange exchange = exchanges[lane];
    exchange.rounds = &plan_.rounds();
    status = driver_.start(lanes_[lane], exchange);
  }
  for (std::size_t complete = 0; complete < exchanges.size();) {
    // Where one could not start, this ends the others.
    const auto event = driver_.await(lanes_, hooks_.progress, hooks_.warn);
    if (!event) return status ? event.error() : status;
    if (!event.value().arrived) ++complete;
  }
  return status;
}

base::Status UdpGroup::run_on(std::uint16_t set, transport::Exchange exchange,
                              base::Nanos deadline) {
  if (exchange.rounds == nullptr) exchange.rounds = &plan_.rounds();
  return driver_.run(set, exchange, hooks_.progress, hooks_.warn, deadline);
}

base::Status UdpGroup::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  gathered_.clear();
  for (std::uint32_t member = 0; member < members_; ++member) {
    gathered_.insert(gathered_.end(), mine.begin(), mine.end());
  }
  std::copy(mine.begin(), mine.end(), all.begin() + self_ * mine.size());
  transport::Exchange exchange;
  exchange.send = {gathered_.data(), mine.size(), mine.size()};
  exchange.recv = {all.data(), mine.size(), mine.size()};
  if (const auto index = choose_combining(mine.size())) {
    return run_combining(*index, exchange.send, exchange.recv, {.each = mine.size()});
  }
  return run(exchange);
}

base::Status UdpGroup::reduce_max(const PartnerTree& tree, std::span<std::uint64_t> words) {
  const auto& children = tree.children();
  const std::uint64_t bytes = words.size_bytes();
  // What goes up lies before what goes down; what comes lies by member of the round.
  std::vector<std::uint64_t> out(2 * words.size()), in(words.size() * tree.rounds().recv.size());
  const std::span up = std::span(out).first(words.size());
  const std::span down = std::span(out).last(words.size());
  std::copy(words.begin(), words.end(), up.begin());
  std::vector<std::uint64_t> sizes(members_), from(members_), to(members_);
  std::vector<std::uint8_t> withheld(members_);
  for (std::size_t i = 0; i < tree.rounds().send.size(); ++i) {
    const base::PeerId peer = tree.rounds().send[i];
    const bool is_parent = peer == tree.parent();
    sizes[peer] = bytes;
    from[peer] = is_parent ? 0 : bytes;
    to[peer] = i * bytes;
    withheld[peer] = !is_parent || !children.empty() ? 1 : 0;
  }
  transport::Exchange exchange;
  exchange.rounds = &tree.rounds();
  exchange.send = {reinterpret_cast<const std::byte*>(out.data()), 0, 0, from, sizes};
  exchange.recv = {reinterpret_cast<std::byte*>(in.data()), 0, 0, to, sizes};
  exchange.withheld = withheld;
  exchange.reports_arrivals = true;
  if (auto started = driver_.start(set_, exchange); !started) return started;
  const auto tell_children = [&](std::span<const std::uint64_t> all) {
    std::copy(all.begin(), all.end(), down.begin());
    for (const base::PeerId child : children) driver_.make_ready(set_, child);
  };
  for (std::size_t missing = children.size();;) {
    const auto event = driver_.await(std::span(&set_, 1), hooks_.progress, hooks_.warn);
    if (!event) return event.error();
    if (!event.value().arrived) break;
    const base::PeerId peer = *event.value().arrived;
    const std::span come = std::span(in).subspan(to[peer] / sizeof(std::uint64_t), words.size());
    if (peer == tree.parent()) {
      tell_children(come);
      continue;
    }
    for (std::size_t i = 0; i < words.size(); ++i) up[i] = std::max(up[i], come[i]);
    if (--missing > 0) continue;
    if (tree.parent()) {
      driver_.make_ready(set_, *tree.parent());
    } else {
      tell_children(up);
    }
  }
  std::copy(down.begin(), down.end(), words.begin());
  return {};
}

std::optional<std::size_t> UdpGroup::choose_combining(std::uint64_t bytes) const {
  // What ranks at different sites send differs: they would not come to the same. Plans that know
  // sites stand behind the others.
  const auto sites = std::find_if(plans_.begin(), plans_.end(), [](const plan::Plan& plan) {
    return plan.phases.front().reach != plan::Reach::kAny;
  });
  const auto alike = std::span(plans_).first(static_cast<std::size_t>(sites - plans_.begin()));
  return plan::choose_combining(alike, bytes, packet_bytes());
}

base::Status UdpGroup::run_combining(std::size_t index, const transport::ConstBlocks& send,
                                     const transport::MutableBlocks& recv,
                                     const execute::Amounts& amounts) {
  return executions_[index].run(*carriers_[index], send, recv, amounts);
}

base::Status UdpGroup::run_blocks(const transport::Exchange& exchange,
                                  execute::Execution* stepped) {
  // The site plan's phases have partners only; the plan for large blocks tells of this member's own
  // block, too.
  const bool own_agrees = exchange.send.size_of(self_) == exchange.recv.size_of(self_);
  if (!site_plan_ || !own_agrees) return run(exchange);
  execute::Amounts amounts;
  amounts.sends = exchange.send.size;
  amounts.receives = exchange.recv.size;
  execute::Execution& execution = stepped != nullptr ? *stepped : executions_[*site_plan_];
  return execution.run(*carriers_[*site_plan_], exchange.send, exchange.recv, amounts);
}

void UdpGroup::begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere) {
  driver_.begin(sets_, call, elsewhere);
}

base::Status UdpGroup::trouble() {
  for (const std::uint16_t set : sets_) {
    if (auto found = driver_.trouble(set); !found) return found;
  }
  return {};
}

void UdpGroup::share_failure() { driver_.share_failure(sets_); }

void UdpGroup::give_up(const std::string& failure, std::uint32_t lost) {
  driver_.give_up(sets_, {base::ErrorCode::kPeerLost, failure}, lost);
}

transport::Counters UdpGroup::counters() const {
  transport::Counters sum;
  for (const std::uint16_t set : sets_) sum += driver_.counters(set);
  return sum;
}

std::string UdpGroup::settings_text() const {
  const auto window = config_.seeks_from == 0
                          ? fmt::format("{}", config_.window_packets)
                          : fmt::format("of {} to {}", config_.seeks_from, config_.window_packets);
  return fmt::format("window {} packets, grain {}, {}-byte datagrams", window,
                     config_.grain_packets, config_.datagram_bytes);
}

}  // namespace alm::carrier
