#include "phased_swarm.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "datagrams.h"
#include "execute/execution.h"
#include "host_carrier.h"
#include "taking_turns.h"

namespace alm::swarm {
namespace {

// Where the blocks of one rank lie: apart from each other, not in the order of the ranks, and of
// equal ones at equal distances.
struct Places {
  std::vector<std::uint64_t> at, size;
  std::uint64_t stride = 0, end = 0;

  template <class Size>
  Places(std::uint32_t ranks, Sizes sizes, bool backwards, const Size& size_of) : at(ranks) {
    constexpr std::uint64_t kGap = 3;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) size.push_back(size_of(rank));
    for (std::uint32_t i = 0; i < ranks; ++i) {
      const std::uint32_t rank = backwards && sizes != Sizes::kEqual ? ranks - 1 - i : i;
      at[rank] = end;
      end += size[rank] + kGap;
    }
    if (sizes == Sizes::kEqual) stride = size.front() + kGap;
  }

  template <class Byte>
  transport::Blocks<Byte> blocks(Byte* base) const {
    if (stride > 0) return {base, stride, size.front()};
    return {base, 0, 0, at, size};
  }
};

// The program of one rank: it computes, exchanges, looks at every byte, and so on.
class PhasedRank {
 public:
  PhasedRank(const PhasedScenario& scenario, std::uint32_t self, HostMemory& memory,
             const base::Nanos& now)
      : scenario_(scenario),
        self_(self),
        now_(now),
        execution_(scenario.plan_of(self)),
        carrier_(scenario, execution_.plan(), memory, now, [this] { return wait(); }),
        turns_([this] { live(); }) {}
  ~PhasedRank() {
    stopped_ = true;
    while (!turns_.done()) turns_.resume();
  }

  HostCarrier& carrier() { return carrier_; }
  const plan::Plan& plan() const { return execution_.plan(); }
  bool finished() const { return turns_.done(); }
  base::Nanos wake() const { return finished() || inside_ ? base::kNever : enter_at_; }
  bool can_go_on() const {
    if (finished()) return false;
    return inside_ ? carrier_.has_event() : now_ >= enter_at_;
  }
  void go_on() { turns_.resume(); }
  const std::string& failure() const { return failure_; }
  std::string state() const {
    return "rank " + std::to_string(self_) + " in exchange " + std::to_string(exchange_) +
           carrier_.running();
  }

 private:
  // False: the swarm has ended.
  bool wait() {
    turns_.wait();
    return !stopped_;
  }

  void live() {
    for (; exchange_ < scenario_.exchanges.size(); ++exchange_) {
      enter_at_ = now_ + scenario_.exchanges[exchange_].think[self_];
      while (now_ < enter_at_ && !stopped_) wait();
      if (stopped_) return;
      inside_ = true;
      failure_ = exchange();
      inside_ = false;
      if (!failure_.empty() || stopped_) return;
    }
  }

  // Empty: every byte is right.
  std::string exchange() {
    const PhasedExchange& wanted = scenario_.exchanges[exchange_];
    const std::uint32_t ranks = scenario_.ranks();
    const Places out(ranks, wanted.sizes, self_ % 2 == 1,
                     [&](std::uint32_t to) { return wanted.bytes[self_ * ranks + to]; });
    const Places in(ranks, wanted.sizes, exchange_ % 2 == 1,
                    [&](std::uint32_t from) { return wanted.bytes[from * ranks + self_]; });
    execute::Amounts amounts;
    if (wanted.sizes == Sizes::kAny) amounts.all = wanted.bytes;
    if (wanted.sizes != Sizes::kAny) amounts.each = wanted.each;
    if (wanted.sizes == Sizes::kWeighted) amounts.weights = scenario_.weights;
    Bytes send(out.end, kUntouched);
    Bytes recv(in.end, kUntouched);
    Bytes expected(in.end, kUntouched);
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      for (std::uint64_t i = 0; i < out.size[peer]; ++i) {
        send[out.at[peer] + i] = pattern(exchange_, self_, peer, i);
      }
      for (std::uint64_t i = 0; peer != self_ && i < in.size[peer]; ++i) {
        expected[in.at[peer] + i] = pattern(exchange_, peer, self_, i);
      }
    }
    const auto done = execution_.run(carrier_, out.blocks<const std::byte>(send.data()),
                                     in.blocks(recv.data()), amounts);
    if (!done) return done.error().message;
    // The program is free to overwrite its send buffer.
    std::fill(send.begin(), send.end(), kUntouched);
    const auto wrong = std::mismatch(recv.begin(), recv.end(), expected.begin()).first;
    if (wrong == recv.end()) return "";
    return "exchange " + std::to_string(exchange_) + ": " + describe(in, wrong - recv.begin());
  }

  std::string describe(const Places& in, std::ptrdiff_t wrong) const {
    const auto at = static_cast<std::uint64_t>(wrong);
    std::string text = "rank " + std::to_string(self_) + " has a wrong byte ";
    for (std::uint32_t peer = 0; peer < in.at.size(); ++peer) {
      if (at < in.at[peer] || at >= in.at[peer] + in.size[peer]) continue;
      return text + std::to_string(at - in.at[peer]) + " of " + std::to_string(in.size[peer]) +
             " from rank " + std::to_string(peer);
    }
    return text + "where no block lies";
  }

  const PhasedScenario& scenario_;
  std::uint32_t self_;
  const base::Nanos& now_;
  execute::Execution execution_;
  HostCarrier carrier_;
  std::uint32_t exchange_ = 0;
  base::Nanos enter_at_ = 0;
  bool inside_ = false, stopped_ = false;
  std::string failure_;
  TakingTurns turns_;
};

// The ranks behind one port.
class Host {
 public:
  using Packet = Bytes;

  Host(const PhasedScenario& scenario, std::uint32_t host) : scenario_(scenario) {
    for (const std::uint32_t rank : scenario.placement.ranks[host]) {
      PhasedRank& made = ranks_.emplace_back(scenario, rank, memory_, now_);
      for (std::size_t phase = 0; phase < made.plan().phases.size(); ++phase) {
        transport::Channel* channel = made.carrier().channel(phase);
        if (channel == nullptr) continue;
        by_set_[channel->identity().local_set] = channels_.size();
        channels_.push_back({channel, &made.plan().phases[phase]});
      }
    }
  }

  void step(base::Nanos now, std::string* failure) {
    now_ = now;
    go_on();
    for (const PhasedRank& rank : ranks_) {
      if (failure->empty()) *failure = rank.failure();
    }
  }
  // The channels in turn. What one rank sends last may be what it waits for.
  bool pull(base::Nanos now, PeerId* to, Packet* packet) {
    do {
      for (std::size_t i = 0; i < channels_.size(); ++i) {
        turn_ = (turn_ + 1) % channels_.size();
        PeerId peer = 0;
        if (!pull_datagram(*channels_[turn_].channel, now, &peer, packet)) continue;
        *to = scenario_.placement.host_of[channels_[turn_].phase->rank_of(peer).value];
        return true;
      }
    } while (go_on());
    return false;
  }
  void arrive(base::Nanos now, const Packet& packet) {
    now_ = now;
    const auto found = by_set_.find(header_of_datagram(packet).set);
    if (found == by_set_.end()) return;  // corrupted
    channels_[found->second].channel->on_datagram(now, packet);
  }

  base::Nanos wake() const {
    base::Nanos at = base::kNever;
    for (const PhasedRank& rank : ranks_) at = std::min(at, rank.wake());
    return at;
  }
  base::Nanos deadline() const {
    base::Nanos at = base::kNever;
    for (const Part& part : channels_) at = std::min(at, part.channel->deadline());
    return at;
  }
  bool finished() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const PhasedRank& rank) { return rank.finished(); });
  }
  bool settled() const {
    return std::all_of(channels_.begin(), channels_.end(),
                       [](const Part& part) { return part.channel->settled(); });
  }
  transport::Counters counters() const {
    transport::Counters sum;
    for (const Part& part : channels_) sum += part.channel->counters();
    return sum;
  }
  std::string state() const {
    std::string text;
    for (const PhasedRank& rank : ranks_) {
      if (!rank.finished()) text += (text.empty() ? "" : ", ") + rank.state();
    }
    return text;
  }
  static wire::Header header_of(const Packet& packet) { return header_of_datagram(packet); }
  static void corrupt(Packet& packet, std::mt19937_64& random) { corrupt_datagram(packet, random); }

 private:
  struct Part {
    transport::Channel* channel;
    const plan::Phase* phase;
  };

  // Until all ranks wait for the network, for the time, or for each other. True: one has gone on.
  bool go_on() {
    bool any = false;
    for (bool again = true; again;) {
      again = false;
      for (PhasedRank& rank : ranks_) {
        for (; rank.can_go_on(); again = true) rank.go_on();
      }
      any = any || again;
    }
    return any;
  }

  const PhasedScenario& scenario_;
  base::Nanos now_ = 0;
  HostMemory memory_;
  std::deque<PhasedRank> ranks_;
  std::vector<Part> channels_;
  std::map<std::uint16_t, std::size_t> by_set_;
  std::size_t turn_ = 0;
};

}  // namespace

Outcome run(const PhasedScenario& scenario) {
  std::deque<Host> hosts;
  for (std::uint32_t host = 0; host < scenario.placement.hosts(); ++host) {
    hosts.emplace_back(scenario, host);
  }
  return EventLoop(hosts, scenario.conditions).run();
}

}  // namespace alm::swarm
