#include "mpi/udp_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace alm::mpi {

UdpGroup::UdpGroup(io::Driver& driver, io::PeerSet peers, PlanRounds rounds,
                   std::vector<plan::Grid> grids,
                   std::span<const std::vector<std::vector<std::uint16_t>>> grid_sets, Hooks hooks)
    : driver_(driver),
      members_(static_cast<std::uint32_t>(peers.addresses.size())),
      self_(peers.identity.self),
      set_(peers.identity.local_set),
      config_(peers.config),
      rounds_(std::move(rounds)),
      plans_(std::move(grids)),
      hooks_(std::move(hooks)) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    grids_.push_back(std::make_unique<GridExchange>(plans_[i], driver, peers, grid_sets[i]));
  }
  driver_.add_set(set_, std::move(peers));
}

void UdpGroup::close() {
  driver_.remove_set(set_);
  for (const auto& grid : grids_) grid->close();
}

std::uint32_t UdpGroup::packet_bytes() const {
  return config_.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
}

base::Status UdpGroup::run(transport::Exchange exchange, base::Nanos deadline) {
  if (exchange.rounds.send_begin.empty()) exchange.rounds = rounds_.view();
  return driver_.run(set_, exchange, hooks_.progress, hooks_.warn, deadline);
}

base::Status UdpGroup::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  gathered_.clear();
  for (std::uint32_t member = 0; member < members_; ++member) {
    gathered_.insert(gathered_.end(), mine.begin(), mine.end());
  }
  std::copy(mine.begin(), mine.end(), all.begin() + self_ * mine.size());
  if (const auto grid = choose_grid(mine.size())) {
    return run_grid(*grid, gathered_.data(), all.data(), mine.size());
  }
  transport::Exchange exchange;
  exchange.send = {gathered_.data(), mine.size(), mine.size(), {}, {}};
  exchange.recv = {all.data(), mine.size(), mine.size(), {}, {}};
  return run(exchange);
}

std::optional<std::size_t> UdpGroup::choose_grid(std::uint64_t bytes) const {
  return plan::choose_grid(plans_, bytes, packet_bytes());
}

base::Status UdpGroup::run_grid(std::size_t index, const std::byte* send, std::byte* recv,
                                std::uint64_t bytes) {
  return grids_[index]->run(send, recv, bytes, hooks_.progress, hooks_.warn);
}

std::vector<std::uint16_t> UdpGroup::sets() const {
  std::vector<std::uint16_t> sets = {set_};
  for (const auto& grid : grids_) {
    for (const std::uint16_t set : grid->sets()) sets.push_back(set);
  }
  return sets;
}

void UdpGroup::share_failure() { driver_.share_failure(sets()); }

void UdpGroup::give_up(const std::string& failure, std::uint32_t lost) {
  driver_.give_up(sets(), {base::ErrorCode::kPeerLost, failure}, lost);
}

transport::Counters UdpGroup::counters() const {
  transport::Counters sum = driver_.counters(set_);
  for (const auto& grid : grids_) sum += grid->counters();
  return sum;
}

std::string UdpGroup::settings_text() const {
  return fmt::format("window {} packets, grain {}, {}-byte datagrams", config_.window_packets,
                     config_.grain_packets, config_.datagram_bytes);
}

}  // namespace alm::mpi
