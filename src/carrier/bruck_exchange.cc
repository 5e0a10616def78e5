#include "carrier/bruck_exchange.h"

#include <utility>

namespace alm::carrier {

BruckExchange::BruckExchange(plan::Bruck bruck, io::Driver& driver, const io::PeerSet& all,
                             std::span<const std::vector<std::uint16_t>> sets)
    : blocks_(std::move(bruck), all.identity.self), driver_(driver) {
  for (std::size_t phase = 0; phase < blocks_.phases(); ++phase) {
    io::PeerSet peers = all;
    peers.identity.remote_set = sets[phase];
    peers.identity.local_set = sets[phase][all.identity.self];
    sets_.push_back(peers.identity.local_set);
    driver_.add_set(sets_.back(), std::move(peers));
  }
}

base::Status BruckExchange::run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                                const io::Driver::Progress& progress,
                                const io::Driver::Warn& warn) {
  blocks_.begin(send, bytes);
  for (std::size_t phase = 0; phase < sets_.size(); ++phase) {
    const auto exchange = blocks_.exchange(phase);
    if (auto done = driver_.run(sets_[phase], exchange, progress, warn); !done) return done;
    blocks_.arrived(phase);
  }
  blocks_.finish(recv);
  return {};
}

}  // namespace alm::carrier
