// What lies where in the messages between hosts: NodeExchange and NodeBlocks on one host, and on
// each of the others a host leader that puts its messages together from plan::over_hosts and
// plan::blocks_between, and looks at those that come in the same way.
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "carrier/node_blocks.h"
#include "carrier/node_group_test.h"
#include "plan/host_aggregation.h"

namespace alm::carrier {
namespace {

using plan::Move;
using Bytes = std::vector<std::byte>;
// (from, to): the bytes of a block that travel, and the first of them.
struct Part {
  std::uint64_t at = 0, bytes = 0;
};
using PartOf = std::function<Part(std::uint32_t from, std::uint32_t to)>;

plan::Plan plan_of_hosts(const plan::Placement& placement, std::uint32_t host) {
  return plan::make_plan({.ranks = placement.hosts(), .self = {host}}).value();
}

// One message to, or from, each host.
struct Messages {
  Bytes bytes;
  std::vector<std::uint64_t> at, size;

  explicit Messages(std::uint32_t hosts) : at(hosts), size(hosts) {}
  void add(std::uint32_t host, const Bytes& message) {
    at[host] = bytes.size();
    size[host] = message.size();
    bytes.insert(bytes.end(), message.begin(), message.end());
  }
};

// The leader of a host that has no NodeExchange to help it. What is wrong is told when all is done,
// because others wait for its messages.
class LoneLeader {
 public:
  LoneLeader(RankOnHost& rank, std::uint64_t call)
      : rank_(rank), placement_(rank.placement()), host_(rank.host()), call_(call) {
    const plan::Plan whole =
        plan::over_hosts(plan_of_hosts(placement_, host_), placement_, {rank.rank()});
    phase_ = whole.phases[1];
  }

  // In one phase, as plan::over_hosts has it: `head` and then the parts of the blocks.
  std::string exchange(const Bytes& head, const PartOf& part) {
    Messages out(placement_.hosts()), expected(placement_.hosts());
    Move direct;
    for (std::size_t i = 0; i < phase_.rounds.send.size(); ++i) {
      out.add(phase_.rounds.send[i], message(head, phase_.sends(i, direct), part));
    }
    for (std::size_t i = 0; i < phase_.rounds.recv.size(); ++i) {
      expected.add(phase_.rounds.recv[i], message(head, phase_.receives(i, direct), part));
    }
    return carry(out, expected, nullptr);
  }

  // The sizes of blocks: of every message the slabs wanted, then a word for each of its blocks.
  std::string tell_sizes(std::uint64_t slabs, const RankOnHost::Size& size) {
    Messages out(placement_.hosts()), expected(placement_.hosts());
    Move direct;
    const auto words = [&](std::uint64_t first, std::span<const Move> moves) {
      std::vector<std::uint64_t> all = {first};
      for (const Move& move : moves) all.push_back(size(move.origin.value, move.destination.value));
      const auto bytes = std::as_bytes(std::span(all));
      return Bytes(bytes.begin(), bytes.end());
    };
    for (std::size_t i = 0; i < phase_.rounds.send.size(); ++i) {
      out.add(phase_.rounds.send[i], words(slabs, phase_.sends(i, direct)));
    }
    for (std::size_t i = 0; i < phase_.rounds.recv.size(); ++i) {
      const std::uint32_t from = phase_.rounds.recv[i];
      expected.add(from, words(from == 0 ? 1 : slabs, phase_.receives(i, direct)));
    }
    return carry(out, expected, nullptr);
  }

  // By a plan that combines the messages of pairs of hosts.
  std::string exchange_combined(std::uint64_t bytes) {
    const auto part = [&](std::uint32_t, std::uint32_t) { return Part{0, bytes}; };
    Messages out(placement_.hosts()), expected(placement_.hosts());
    std::vector<std::uint64_t> weights;
    for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
      weights.push_back(placement_.count(host));
      if (host == host_) continue;
      out.add(host, message({}, plan::blocks_between(placement_, host_, host), part));
      expected.add(host, message({}, plan::blocks_between(placement_, host, host_), part));
    }
    const execute::Amounts amounts{.each = bytes, .weights = weights};
    return carry(out, expected, &amounts);
  }

 private:
  Bytes message(const Bytes& head, std::span<const Move> moves, const PartOf& part) const {
    Bytes bytes = head;
    for (const Move& move : moves) {
      const std::uint32_t from = move.origin.value;
      const std::uint32_t to = move.destination.value;
      const Part travels = part(from, to);
      for (std::uint64_t i = 0; i < travels.bytes; ++i) {
        bytes.push_back(pattern(from, to, travels.at + i, call_));
      }
    }
    return bytes;
  }

  std::string carry(const Messages& out, const Messages& expected,
                    const execute::Amounts* combined) {
    Bytes in(expected.bytes.size());
    const transport::ConstBlocks send{out.bytes.data(), 0, 0, out.at, out.size};
    const transport::MutableBlocks recv{in.data(), 0, 0, expected.at, expected.size};
    transport::Exchange exchange;
    exchange.send = send;
    exchange.recv = recv;
    const auto done = combined == nullptr ? rank_.group()->run(exchange)
                                          : rank_.group()->run_combining(0, send, recv, *combined);
    if (!done) return done.error().message;
    return in == expected.bytes ? "" : "a message between hosts is not as the plan has it. ";
  }

  RankOnHost& rank_;
  const plan::Placement& placement_;
  std::uint32_t host_;
  std::uint64_t call_;
  plan::Phase phase_;  // between hosts
};

class NodeLayout : public ::testing::TestWithParam<std::size_t> {
 protected:
  // The ranks of host 0 as the product has them, and the leaders of the others alone.
  static void run(const std::function<std::string(RankOnHost&)>& on_host,
                  const std::function<std::string(RankOnHost&)>& alone) {
    node::Processes processes(kPlacements[GetParam()]);
    processes.start([&](std::uint32_t rank) {
      RankOnHost self(processes, rank, kSmall);
      std::string wrong;
      if (self.host() == 0) {
        wrong = on_host(self);
      } else if (self.group() != nullptr) {
        wrong = alone(self);
      }
      self.part(processes);
      return wrong;
    });
    processes.expect_all_well();
  }
};

TEST_P(NodeLayout, EqualBlocksAreAsInThePlanOverHosts) {
  constexpr std::uint64_t kBytes = 3000;  // several slabs
  run([](RankOnHost& self) { return self.equal_blocks(kBytes, 1); },
      [](RankOnHost& self) -> std::string {
        const std::uint64_t piece = self.exchange().piece_bytes();
        if (piece >= kBytes) return "one slab is enough";
        LoneLeader leader(self, 1);
        std::string wrong;
        for (std::uint64_t at = 0; at < kBytes; at += piece) {
          const Part part{at, std::min(piece, kBytes - at)};
          wrong += leader.exchange({}, [&](auto, auto) { return part; });
        }
        return wrong;
      });
}

TEST_P(NodeLayout, EqualBlocksAreInThatOrderWhereMessagesAreCombined) {
  run([](RankOnHost& self) { return self.equal_blocks(9, 1, true); },
      [](RankOnHost& self) {
        LoneLeader leader(self, 1);
        if (!self.first_phased()) {
          return leader.exchange({}, [](auto, auto) { return Part{0, 9}; });
        }
        return leader.exchange_combined(9);
      });
}

TEST_P(NodeLayout, BlocksOfAnySizesAreAsInThePlanOverHosts) {
  const auto size = [](std::uint64_t from, std::uint64_t to) { return (from * 7 + to * 3) % 41; };
  for (const std::uint64_t slabs : {1, 3}) {
    run([&](RankOnHost& self) { return self.any_blocks(size, size, 1); },
        [&](RankOnHost& self) {
          LoneLeader leader(self, 1);
          std::string wrong = leader.tell_sizes(slabs, size);
          for (std::uint64_t slab = 0; slab < slabs; ++slab) {
            const Bytes verdict(slab == 0 ? kVerdictBytes : 0);  // nobody disagrees
            wrong += leader.exchange(verdict, [&](std::uint32_t from, std::uint32_t to) {
              const std::uint64_t bytes = size(from, to);
              const std::uint64_t each = (bytes + slabs - 1) / slabs;
              const std::uint64_t at = std::min(bytes, slab * each);
              return Part{at, std::min(each, bytes - at)};
            });
          }
          return wrong;
        });
  }
}

// The plan itself: between hosts it has the blocks of blocks_between, one pair of hosts after the
// other, where a message combines several.
TEST_P(NodeLayout, ThePlanOverHostsHasTheBlocksOfEachPairOfHosts) {
  const auto placement = plan::Placement::of(kPlacements[GetParam()]);
  for (const auto algorithm : {plan::Algorithm::kSyncShuffle, plan::Algorithm::kBruck}) {
    for (std::uint32_t host = 0; host < placement.hosts(); ++host) {
      const auto of_hosts =
          plan::make_plan({.ranks = placement.hosts(), .self = {host}, .algorithm = algorithm})
              .value();
      const auto whole = plan::over_hosts(of_hosts, placement, {placement.leader(host)});
      ASSERT_EQ(whole.phases.size(), of_hosts.phases.size() + 2);
      for (std::size_t p = 0; p < of_hosts.phases.size(); ++p) {
        const plan::Phase& small = of_hosts.phases[p];
        const plan::Phase& large = whole.phases[p + 1];
        ASSERT_EQ(large.rounds.send, small.rounds.send);
        for (std::size_t i = 0; i < small.rounds.send.size(); ++i) {
          Move direct, unused;
          std::vector<Move> expected;
          for (const Move& move : small.sends(i, direct)) {
            const auto blocks =
                plan::blocks_between(placement, move.origin.value, move.destination.value);
            expected.insert(expected.end(), blocks.begin(), blocks.end());
          }
          const auto found = large.sends(i, unused);
          EXPECT_EQ(std::vector<Move>(found.begin(), found.end()), expected);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, NodeLayout,
                         ::testing::Range(std::size_t{0}, kPlacements.size()));

}  // namespace
}  // namespace alm::carrier
