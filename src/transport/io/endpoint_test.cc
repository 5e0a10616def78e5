#include "transport/io/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/io/sender.h"

namespace alm::io {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::minstd_rand random(seed + 1);
  std::vector<std::byte> result(bytes);
  for (auto& b : result) b = static_cast<std::byte>(random() & 0xff);
  return result;
}

struct Case {
  const char* address;
  bool gso, gro;
  std::uint32_t paths;
  std::uint32_t mtu;
};

class EndpointTransfer : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Endpoint> open() {
    EndpointOptions options;
    options.local_address = GetParam().address;
    options.allow_gso = GetParam().gso;
    options.allow_gro = GetParam().gro;
    options.paths = GetParam().paths;
    options.mtu_bytes = GetParam().mtu;
    options.grain_packets = 8;
    auto endpoint = Endpoint::open(options);
    EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
    return std::move(endpoint).value();
  }
};

// Trains, single datagrams, short last segments and empty payloads all arrive as the datagrams they
// were.
TEST_P(EndpointTransfer, EveryDatagramArrivesAsSent) {
  auto a = open(), b = open();
  ASSERT_EQ(a->datagram_bytes(), GetParam().mtu - (std::strchr(GetParam().address, ':') ? 48 : 28));
  const std::size_t full = a->datagram_bytes();
  const std::size_t sizes[] = {full, full, full, 100, 24,   full, full, full,
                               full, full, full, 1,   full, 24,   24,   24};
  std::vector<Address> to;
  for (std::uint32_t path = 0; path < b->paths(); ++path) to.push_back(b->local(path));

  std::map<std::string, int> expected, arrived;
  std::uint32_t sequence = 0;
  std::size_t received = 0, sent_total = 0;
  auto receive = [&] {
    received += b->receive([&](const Address& from, std::span<const std::byte> datagram) {
      EXPECT_EQ(to_numeric_string(from), GetParam().address);
      ++arrived[std::string(reinterpret_cast<const char*>(datagram.data()), datagram.size())];
    });
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<std::byte>> storage;
    std::vector<SendItem> items;
    for (const std::size_t size : sizes) {
      storage.push_back(pattern(size, ++sequence));
      ++expected[std::string(reinterpret_cast<const char*>(storage.back().data()), size)];
    }
    for (std::size_t i = 0; i < storage.size(); ++i) {
      const auto path = static_cast<std::uint8_t>((i / 4) % to.size());
      const std::size_t head = std::min<std::size_t>(24, storage[i].size());
      items.push_back({&to[path], path, std::span(storage[i]).first(head),
                       std::span(storage[i]).subspan(head)});
    }
    std::size_t sent = 0;
    while (sent < items.size()) {
      sent += a->send(monotonic_now(), std::span(items).subspan(sent));
      receive();
    }
    sent_total += sent;
  }
  for (int i = 0; i < 200 && received < sent_total; ++i) {
    b->wait(monotonic_now(), monotonic_now() + 10 * base::kMillisecond, false);
    receive();
  }
  EXPECT_EQ(arrived, expected);
  EXPECT_EQ(a->counters().datagrams_sent, sent_total);
  EXPECT_EQ(b->counters().datagrams_received, sent_total);
  EXPECT_EQ(b->counters().receive_overflow, 0U);
  if (GetParam().gso) {
    EXPECT_GT(a->counters().trains_sent, 0U);
  } else {
    EXPECT_EQ(a->counters().trains_sent, 0U);
  }
  if (GetParam().gso && GetParam().gro) {
    EXPECT_LT(b->counters().receive_calls, sent_total);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Loopback, EndpointTransfer,
    testing::Values(Case{"127.0.0.1", true, true, 1, 1500}, Case{"127.0.0.1", false, true, 1, 1500},
                    Case{"127.0.0.1", true, false, 1, 1500},
                    Case{"127.0.0.1", false, false, 1, 1500},
                    Case{"127.0.0.1", true, true, 4, 1500}, Case{"127.0.0.1", true, true, 1, 9000},
                    Case{"::1", true, true, 1, 1500}, Case{"::1", false, false, 2, 9000}));

EndpointOptions loopback() {
  EndpointOptions options;
  options.local_address = "127.0.0.1";
  options.mtu_bytes = 1500;
  return options;
}

TEST(Endpoint, LoopbackMtuIsCapped) {
  auto options = loopback();
  options.mtu_bytes = 0;
  EXPECT_EQ(Endpoint::open(options).value()->datagram_bytes(), kMtuBytesDefaultMax - 28);
}

TEST(Endpoint, EveryPathHasAFiveTupleOfItsOwn) {
  for (std::uint32_t paths = 1; paths <= wire::kPathsMax; ++paths) {
    const std::uint32_t sockets = sockets_for(paths);
    ASSERT_LE(sockets, kSocketsMax);
    std::set<std::pair<int, int>> tuples;
    for (std::uint32_t path = 0; path < paths; ++path) {
      const Tuple tuple = tuple_of(static_cast<std::uint8_t>(path), sockets);
      EXPECT_LT(tuple.socket, sockets);
      EXPECT_LT(tuple.port, sockets);
      tuples.emplace(tuple.socket, tuple.port);
    }
    EXPECT_EQ(tuples.size(), paths);
  }
}

TEST(Endpoint, PathsOfAHostWithSeveralLinksGoRoundThem) {
  for (const std::uint32_t links : {2u, 3u, 4u}) {
    const std::uint32_t sockets = sockets_for(12, links);
    ASSERT_LE(sockets, kSocketsMax);
    ASSERT_EQ(sockets % links, 0u);
    std::set<std::pair<int, int>> tuples;
    const Tuples round = round_of_links(12, sockets, links);
    for (std::uint32_t path = 0; path < 12; ++path) {
      EXPECT_EQ(round[path].socket % links, path % links);
      EXPECT_EQ(round[path].port % links, path % links);
      tuples.emplace(round[path].socket, round[path].port);
    }
    EXPECT_EQ(tuples.size(), 12u);
  }
}

TEST(Endpoint, SocketsTakeTurnsOnItsAddresses) {
  auto options = loopback();
  options.further_addresses = {"127.0.0.2"};
  options.paths = 4;
  const auto endpoint = Endpoint::open(options).value();
  for (std::uint32_t path = 0; path < 4; ++path) {
    EXPECT_EQ(to_numeric_string(endpoint->local(path)), path % 2 == 0 ? "127.0.0.1" : "127.0.0.2");
  }
  options.further_addresses = {"203.0.113.5"};
  EXPECT_FALSE(Endpoint::open(options).ok());
}

TEST(Endpoint, SocketsThatAreOpenedLaterAreReadOnceItListens) {
  const auto sender = Endpoint::open(loopback()).value();
  const auto receiver = Endpoint::open(loopback()).value();
  ASSERT_TRUE(receiver->open_more(3).ok());
  ASSERT_TRUE(receiver->open_more(2).ok());
  EXPECT_EQ(receiver->paths(), 3u);
  EXPECT_EQ(receiver->listening(), 1u);
  const auto datagram = pattern(100, 1);
  const Address to = receiver->local(2);
  const SendItem item{&to, 0, datagram, {}};
  ASSERT_EQ(sender->send(monotonic_now(), std::span(&item, 1)), 1u);
  const auto nothing = [](const Address&, std::span<const std::byte>) {};
  const base::Nanos soon = monotonic_now() + 20 * base::kMillisecond;
  EXPECT_FALSE(receiver->wait(monotonic_now(), soon, false).readable);
  EXPECT_EQ(receiver->receive(nothing), 0u);
  receiver->listen(9);
  EXPECT_EQ(receiver->listening(), 3u);
  EXPECT_TRUE(receiver->wait(monotonic_now(), monotonic_now() + base::kSecond, false).readable);
  EXPECT_EQ(receiver->receive(nothing), 1u);
}

TEST(Endpoint, RefusesBadOptions) {
  auto options = loopback();
  options.paths = 9;
  EXPECT_FALSE(Endpoint::open(options).ok());
  options = loopback();
  options.mtu_bytes = 100;
  EXPECT_FALSE(Endpoint::open(options).ok());
  options = loopback();
  options.local_address = "203.0.113.5";
  auto foreign = Endpoint::open(options);
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().message, testing::HasSubstr("203.0.113.5"));
}

TEST(Endpoint, SmallKernelBufferNamesTheSysctl) {
  auto options = loopback();
  EXPECT_THAT(Endpoint::open(options).value()->warnings(), testing::IsEmpty());
  options.receive_buffer_bytes = 64u << 10;
  auto endpoint = Endpoint::open(options).value();
  ASSERT_EQ(endpoint->warnings().size(), 1U);
  EXPECT_THAT(endpoint->warnings()[0], testing::HasSubstr("sysctl -w net.core.rmem_max="));
  EXPECT_EQ(endpoint->receive_buffer_bytes(), 64u << 10);
}

// As many as the kernel takes when nobody reads, and not many fewer.
class BufferRoom : public testing::TestWithParam<std::uint32_t> {};

TEST_P(BufferRoom, PacketsThatFitAreKept) {
  auto options = loopback();
  options.mtu_bytes = GetParam();
  options.receive_buffer_bytes = 1u << 20;
  options.receive_packets_min = 1;
  auto from = Endpoint::open(options).value();
  auto to = Endpoint::open(options).value();
  const std::uint32_t fit = packets_that_fit(to->receive_buffer_bytes(), to->datagram_bytes());
  const auto bytes = pattern(to->datagram_bytes(), 1);
  const Address address = to->local();
  const SendItem item{&address, 0, bytes, {}};
  for (std::uint32_t i = 0; i < 2 * fit; ++i) {
    while (from->send(monotonic_now(), {&item, 1}) == 0) {
      from->wait(monotonic_now(), monotonic_now() + base::kMillisecond, true);
    }
  }
  std::size_t kept = 0;
  while (const std::size_t more = to->receive([](const Address&, std::span<const std::byte>) {})) {
    kept += more;
  }
  EXPECT_GE(kept, fit);
  EXPECT_LE(kept, fit + fit / 4);
}

INSTANTIATE_TEST_SUITE_P(Mtu, BufferRoom, testing::Values(1500u, 9000u));

TEST(Endpoint, OversizedDatagramIsDroppedAndCounted) {
  auto a = Endpoint::open(loopback()).value();
  auto b = Endpoint::open(loopback()).value();
  const auto big = pattern(65'530, 1);  // above what UDP carries at all
  const auto small = pattern(10, 2);
  const Address to = b->local();
  const SendItem items[] = {{&to, 0, big, {}}, {&to, 0, small, {}}};
  EXPECT_EQ(a->send(monotonic_now(), items), 2U);
  EXPECT_EQ(a->counters().oversized, 1U);
  std::size_t bytes = 0;
  b->wait(monotonic_now(), monotonic_now() + base::kSecond, false);
  b->receive([&](const Address&, std::span<const std::byte> d) { bytes += d.size(); });
  EXPECT_EQ(bytes, 10U);
}

// A closed port answers with ICMP: counted, and neither sending nor waiting stumbles over it.
TEST(Endpoint, ClosedPortIsSurvived) {
  auto a = Endpoint::open(loopback()).value();
  auto gone = Endpoint::open(loopback()).value();
  auto b = Endpoint::open(loopback()).value();
  const Address alive = b->local();
  const Address dead = gone->local();
  gone.reset();  // after b has a port: not this one
  const auto bytes = pattern(100, 1);
  std::size_t received = 0;
  for (int i = 0; i < 50; ++i) {
    const SendItem items[] = {{&dead, 0, bytes, {}}, {&alive, 0, bytes, {}}};
    std::size_t sent = 0;
    while (sent < 2) sent += a->send(monotonic_now(), std::span(items).subspan(sent));
    received += b->receive([](const Address&, std::span<const std::byte>) {});
  }
  for (int i = 0; i < 20; ++i) {
    if (a->wait(monotonic_now(), monotonic_now() + base::kMillisecond, false).error)
      a->clear_errors();
  }
  received += b->receive([](const Address&, std::span<const std::byte>) {});
  EXPECT_EQ(received, 50U);
  EXPECT_GT(a->counters().refused, 0U);
  EXPECT_FALSE(a->wait(monotonic_now(), monotonic_now(), false).error);
}

TEST(Endpoint, UnroutableDestinationDoesNotBlockOthers) {
  auto options = loopback();
  options.grain_packets = 2;
  auto a = Endpoint::open(options).value();
  auto b = Endpoint::open(options).value();
  const auto bytes = pattern(100, 1);
  // A socket bound to 127.0.0.1 cannot send off the host (EINVAL or ENETUNREACH).
  const Address far = make_address("203.0.113.5", 9).value();
  const Address near = b->local();
  const SendItem items[] = {{&far, 0, bytes, {}}, {&far, 0, bytes, {}}, {&near, 0, bytes, {}}};
  EXPECT_EQ(a->send(monotonic_now(), items), 3U);
  EXPECT_GE(a->counters().refused, 2U);
  EXPECT_EQ(a->counters().gso_fallbacks, 1U);
  b->wait(monotonic_now(), monotonic_now() + base::kSecond, false);
  EXPECT_EQ(b->receive([](const Address&, std::span<const std::byte>) {}), 1U);
}

TEST(Endpoint, PacingHoldsTheRateWhereTheKernelDoesNot) {
  auto options = loopback();
  options.pace_mbit_s = 20;
  auto a = Endpoint::open(options).value();
  auto b = Endpoint::open(options).value();
  const auto bytes = pattern(1472, 1);
  const Address to = b->local();
  const std::vector<SendItem> items(200, SendItem{&to, 0, bytes, {}});
  const base::Nanos start = monotonic_now();
  std::size_t sent = 0, received = 0;
  while (sent < items.size()) {
    const base::Nanos now = monotonic_now();
    sent += a->send(now, std::span(items).subspan(sent));
    received += b->receive([](const Address&, std::span<const std::byte>) {});
    if (sent < items.size()) a->wait(now, now + base::kSecond, true);
  }
  received += b->receive([](const Address&, std::span<const std::byte>) {});
  // 200 frames of 1514 bytes at 20.2 Mbit/s; not faster than the rate allows.
  EXPECT_GT(monotonic_now() - start, 110 * base::kMillisecond);
  EXPECT_EQ(received, 200U);
  EXPECT_GT(a->counters().paced, 0U);
}

TEST(Endpoint, WhatTheQueuesHoldOfASmallExchangeIsNotPaced) {
  for (const std::uint32_t burst : {0U, 12U}) {
    auto options = loopback();
    options.pace_mbit_s = 1;
    options.burst_packets = burst;
    auto a = Endpoint::open(options).value();
    auto b = Endpoint::open(options).value();
    const auto bytes = pattern(1472, 1);
    const Address to = b->local();
    const std::vector<SendItem> items(30, SendItem{&to, 0, bytes, {}});
    EXPECT_EQ(a->send(monotonic_now(), items), burst == 0 ? 4U : 12U);
  }
}

TEST(Endpoint, NothingIsPacedByARateThatHasNotBeenSeen) {
  auto options = loopback();
  options.pace_mbit_s = 1;
  options.pace_when_seen = true;
  auto a = Endpoint::open(options).value();
  auto b = Endpoint::open(options).value();
  const auto bytes = pattern(1472, 1);
  const Address to = b->local();
  const std::vector<SendItem> items(30, SendItem{&to, 0, bytes, {}});
  EXPECT_EQ(a->send(monotonic_now(), items), 30U);
  constexpr std::uint64_t kBytes = 125'000;  // a second's at 1 Mbit/s
  a->exchanged(kBytes, kBytes, base::kSecond);
  EXPECT_EQ(a->send(monotonic_now(), items), 30U);
  a->exchanged(kBytes, kBytes, base::kSecond);
  EXPECT_LT(a->send(monotonic_now(), items), 30U);
}

TEST(Endpoint, WaitEndsOnTimeDataAndWake) {
  auto a = Endpoint::open(loopback()).value();
  auto b = Endpoint::open(loopback()).value();
  const base::Nanos start = monotonic_now();
  EXPECT_FALSE(a->wait(start, start + 2 * base::kMillisecond, false).readable);
  EXPECT_GE(monotonic_now() - start, 2 * base::kMillisecond);
  EXPECT_FALSE(a->wait(start, start, false).readable);
  const auto bytes = pattern(10, 1);
  const Address to = a->local();
  const SendItem item{&to, 0, bytes, {}};
  ASSERT_EQ(b->send(monotonic_now(), {&item, 1}), 1U);
  EXPECT_TRUE(a->wait(monotonic_now(), base::kNever, false).readable);
}

TEST(TrainRefusals, RemembersAndGivesUpOnAllBeyondItsBound) {
  TrainRefusals refusals;
  EXPECT_TRUE(refusals.empty());
  for (std::uint16_t port = 1; port <= 64; ++port)
    refusals.add(make_address("198.18.0.1", port).value());
  EXPECT_TRUE(refusals.contains(make_address("198.18.0.1", 64).value()));
  EXPECT_FALSE(refusals.contains(make_address("198.18.0.1", 65).value()));
  refusals.add(make_address("198.18.0.1", 65).value());
  EXPECT_TRUE(refusals.contains(make_address("198.18.0.1", 1000).value()));
}

}  // namespace
}  // namespace alm::io
