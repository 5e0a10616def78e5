// One rank's phases on the network of a swarm: each of those between hosts has a set of peers and a
// channel of its own, as carrier::UdpGroup gives it; those within a host leave their messages in
// its memory, which loses nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "datagrams.h"
#include "execute/execution.h"
#include "phased_scenario.h"
#include "plan/plan.h"
#include "transport/channel.h"

namespace alm::swarm {

// Messages between the ranks of a host that their receivers have not taken yet.
struct HostMemory {
  // (exchange, phase, from, to)
  using Name = std::tuple<std::uint64_t, std::size_t, std::uint32_t, std::uint32_t>;
  std::map<Name, Bytes> messages;
};

class HostCarrier final : public execute::Carrier {
 public:
  // `now` is the host's clock. `wait` returns when there may be an event, and says whether to go
  // on.
  HostCarrier(const PhasedScenario& scenario, const plan::Plan& plan, HostMemory& memory,
              const base::Nanos& now, std::function<bool()> wait);

  base::Status start(std::size_t phase, const transport::Exchange& exchange) override;
  void make_ready(std::size_t phase, base::PeerId peer) override;
  base::Result<Event> await() override;
  bool has_event() const;

  // By phase; null: it is in memory, or the rank has no part in it.
  transport::Channel* channel(std::size_t phase) const { return parts_[phase].channel.get(); }
  // Peers address it by this.
  static std::uint16_t set_of(std::uint32_t rank, std::size_t phase) {
    return static_cast<std::uint16_t>(1 + 64 * phase + rank);
  }
  std::string running() const;  // phases, for people

 private:
  struct Part {
    std::unique_ptr<transport::Channel> channel;
    bool running = false;
    std::uint64_t begun = 0;  // exchanges
    // In memory.
    const transport::Exchange* exchange = nullptr;
    std::uint32_t unsent = 0;
    std::vector<base::PeerId> missing;
  };

  bool is_complete(const Part& part) const;
  std::optional<base::PeerId> in_memory(std::size_t phase) const;
  HostMemory::Name name(std::size_t phase, base::PeerId from, base::PeerId to) const;
  void hand_over(std::size_t phase, base::PeerId peer);
  void take(std::size_t phase, base::PeerId peer);
  std::optional<Event> next_event();

  const plan::Plan& plan_;
  HostMemory& memory_;
  const base::Nanos& now_;
  std::function<bool()> wait_;
  std::vector<Part> parts_;  // by phase
};

}  // namespace alm::swarm
