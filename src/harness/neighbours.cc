#include "harness/neighbours.h"

#include <algorithm>

namespace alm::harness {

using sim::Picos;

Neighbours::Neighbours(const std::vector<std::unique_ptr<harness::Program>>& jobs, BulkFlows* flows)
    : jobs_(jobs) {
  for (const auto& job : jobs) programs_.push_back(job.get());
  if (flows != nullptr) programs_.push_back(flows);
}

bool Neighbours::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  if (host >= turn_.size()) turn_.resize(host + 1);
  if (index >= owner_.size()) owner_.resize(index + index / 2 + 64);
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const std::size_t at = (turn_[host] + i) % programs_.size();
    if (!programs_[at]->pull(host, now, index, packet)) continue;
    owner_[index] = static_cast<std::uint32_t>(at);
    turn_[host] = at + 1;
    return true;
  }
  return false;
}

void Neighbours::receive(std::uint32_t host, Picos now, std::uint32_t index,
                         const sim::Packet& packet) {
  programs_[owner_[index]]->receive(host, now, index, packet);
}

void Neighbours::timer(std::uint32_t host, Picos now) {
  for (sim::Program* program : programs_) program->timer(host, now);
}

Picos Neighbours::deadline(std::uint32_t host) const {
  Picos earliest = sim::kNever;
  for (const sim::Program* program : programs_) {
    earliest = std::min(earliest, program->deadline(host));
  }
  return earliest;
}

bool Neighbours::done() const {
  const auto failed = [](const auto& job) { return job->failure().has_value(); };
  return std::any_of(jobs_.begin(), jobs_.end(), failed) ||
         std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->done(); });
}

}  // namespace alm::harness
