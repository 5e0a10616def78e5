#include "carrier/udp_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carrier/bruck_exchange.h"
#include "carrier/grid_exchange.h"

namespace alm::carrier {

namespace {

std::unique_ptr<PhasedExchange> open(const plan::Phased& phased, io::Driver& driver,
                                     const io::PeerSet& peers,
                                     std::span<const std::vector<std::uint16_t>> sets) {
  if (const auto* grid = std::get_if<plan::Grid>(&phased)) {
    return std::make_unique<GridExchange>(*grid, driver, peers, sets);
  }
  return std::make_unique<BruckExchange>(std::get<plan::Bruck>(phased), driver, peers, sets);
}

}  // namespace

UdpGroup::UdpGroup(io::Driver& driver, io::PeerSet peers, PlanRounds rounds,
                   std::vector<plan::Phased> phased,
                   std::span<const std::vector<std::vector<std::uint16_t>>> phase_sets, Hooks hooks)
    : driver_(driver),
      members_(static_cast<std::uint32_t>(peers.addresses.size())),
      self_(peers.identity.self),
      set_(peers.identity.local_set),
      sets_{set_},
      config_(peers.config),
      rounds_(std::move(rounds)),
      plans_(std::move(phased)),
      hooks_(std::move(hooks)) {
  peers.family = set_;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    phased_.push_back(open(plans_[i], driver, peers, phase_sets[i]));
    for (const std::uint16_t set : phased_.back()->sets()) sets_.push_back(set);
  }
  driver_.add_set(set_, std::move(peers));
}

void UdpGroup::close() {
  for (const std::uint16_t set : sets_) driver_.remove_set(set);
}

std::uint32_t UdpGroup::packet_bytes() const {
  return config_.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
}

base::Status UdpGroup::run(transport::Exchange exchange, base::Nanos deadline) {
  if (exchange.rounds == nullptr) exchange.rounds = &rounds_.rounds;
  return driver_.run(set_, exchange, hooks_.progress, hooks_.warn, deadline);
}

base::Status UdpGroup::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  gathered_.clear();
  for (std::uint32_t member = 0; member < members_; ++member) {
    gathered_.insert(gathered_.end(), mine.begin(), mine.end());
  }
  std::copy(mine.begin(), mine.end(), all.begin() + self_ * mine.size());
  if (const auto phased = choose_phased(mine.size())) {
    return run_phased(*phased, gathered_.data(), all.data(), mine.size());
  }
  transport::Exchange exchange;
  exchange.send = {gathered_.data(), mine.size(), mine.size()};
  exchange.recv = {all.data(), mine.size(), mine.size()};
  return run(exchange);
}

std::optional<std::size_t> UdpGroup::choose_phased(std::uint64_t bytes) const {
  return plan::choose_phased(plans_, bytes, packet_bytes());
}

base::Status UdpGroup::run_phased(std::size_t index, const std::byte* send, std::byte* recv,
                                  std::uint64_t bytes) {
  return phased_[index]->run(send, recv, bytes, hooks_.progress, hooks_.warn);
}

void UdpGroup::begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere) {
  driver_.begin(sets_, call, elsewhere);
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
  return fmt::format("window {} packets, grain {}, {}-byte datagrams", config_.window_packets,
                     config_.grain_packets, config_.datagram_bytes);
}

}  // namespace alm::carrier
