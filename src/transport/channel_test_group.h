// For tests: two or more channels without a network. Each test moves the datagrams by hand.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "transport/channel.h"

namespace alm::transport {

inline constexpr std::uint32_t kDatagramBytes = 124;  // 100 bytes of block per packet
inline constexpr std::uint64_t kPacket = 100;

struct Wire {
  PeerId from = 0, to = 0;
  std::vector<std::byte> bytes;
  wire::Header header() const {
    wire::Header out;
    EXPECT_EQ(wire::decode(bytes, &out), wire::DecodeError::kNone);
    return out;
  }
};

// `ranks` channels, each of which exchanges with all others.
class Group {
 public:
  explicit Group(PeerId ranks, Config config = {}) : ranks_(ranks) {
    config.datagram_bytes = kDatagramBytes;
    for (PeerId self = 0; self < ranks; ++self) {
      Identity identity{{1, 2}, self, static_cast<std::uint16_t>(self), {}};
      for (PeerId peer = 0; peer < ranks; ++peer) {
        identity.remote_set.push_back(static_cast<std::uint16_t>(peer));
      }
      channels_.emplace_back(config, identity);
      Rounds& rounds = rounds_.emplace_back();
      for (PeerId i = 1; i < ranks; ++i) rounds.send.push_back((self + i) % ranks);
      rounds.recv = rounds.send;
      rounds.send_begin = rounds.recv_begin = {0, ranks - 1};
    }
    send_.resize(ranks);
    recv_.resize(ranks);
  }

  Channel& operator[](PeerId rank) { return channels_[rank]; }

  void start(PeerId self, base::Nanos now, std::uint64_t bytes) {
    send_[self].assign(bytes * ranks_, std::byte{0});
    recv_[self].assign(bytes * ranks_, std::byte{0xEE});
    for (PeerId peer = 0; peer < ranks_; ++peer) fill(self, peer, bytes);
    channels_[self].start(now, uniform(self, bytes));
  }
  // The blocks for these peers follow by fill() and Channel::make_ready(). Arrivals are reported.
  void start_withheld(PeerId self, base::Nanos now, std::uint64_t bytes,
                      std::initializer_list<PeerId> withheld) {
    std::vector<std::uint8_t> absent(ranks_, 0);
    for (const PeerId peer : withheld) absent[peer] = 1;
    send_[self].assign(bytes * ranks_, std::byte{0});
    recv_[self].assign(bytes * ranks_, std::byte{0xEE});
    for (PeerId peer = 0; peer < ranks_; ++peer) {
      if (absent[peer] == 0) fill(self, peer, bytes);
    }
    Exchange exchange = uniform(self, bytes);
    exchange.withheld = absent;
    exchange.reports_arrivals = true;
    exchange.hurries = hurries;
    channels_[self].start(now, exchange);
  }
  bool hurries = false;
  void fill(PeerId self, PeerId peer, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) send_[self][bytes * peer + i] = value(self, peer, i);
  }
  void fill_and_make_ready(PeerId self, PeerId peer, std::uint64_t bytes) {
    fill(self, peer, bytes);
    channels_[self].make_ready(peer);
  }
  std::vector<PeerId> arrivals(PeerId self) {
    std::vector<PeerId> all;
    for (PeerId peer = 0; channels_[self].take_arrival(&peer);) all.push_back(peer);
    return all;
  }
  Rounds& rounds(PeerId self) { return rounds_[self]; }
  void start_blocks(PeerId self, base::Nanos now, std::span<const std::uint64_t> send_sizes,
                    std::span<const std::uint64_t> recv_sizes) {
    places_.resize(ranks_);
    for (PeerId peer = 0; peer < ranks_; ++peer) places_[peer] = peer * kRoom;
    send_[self].assign(ranks_ * kRoom, std::byte{1});
    recv_[self].assign(ranks_ * kRoom, std::byte{0});
    Exchange exchange;
    exchange.rounds = &rounds_[self];
    exchange.send = {send_[self].data(), 0, 0, places_, send_sizes};
    exchange.recv = {recv_[self].data(), 0, 0, places_, recv_sizes};
    channels_[self].start(now, exchange);
  }
  void expect_received(PeerId self, std::uint64_t bytes) const {
    for (PeerId peer = 0; peer < ranks_; ++peer) {
      if (peer == self) continue;
      for (std::uint64_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(recv_[self][bytes * peer + i], value(peer, self, i)) << self << " from " << peer;
      }
    }
  }
  // The program overwrites its send buffer.
  void scribble(PeerId self) { std::fill(send_[self].begin(), send_[self].end(), std::byte{0x11}); }

  std::vector<Wire> pull(PeerId self, base::Nanos now) {
    std::vector<Wire> out;
    Outgoing datagram;
    while (channels_[self].pull(now, {&datagram, 1}) == 1) {
      Wire sent{self, datagram.peer, {datagram.head().begin(), datagram.head().end()}};
      sent.bytes.insert(sent.bytes.end(), datagram.payload.begin(), datagram.payload.end());
      out.push_back(std::move(sent));
    }
    return out;
  }
  bool deliver(const Wire& sent, base::Nanos now) {
    return channels_[sent.to].on_datagram(now, sent.bytes);
  }
  void stop(PeerId rank) { stopped_ = rank; }
  // Moves datagrams until nobody has anything more to say at this instant.
  void flow(base::Nanos now) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (PeerId self = 0; self < ranks_; ++self) {
        if (self == stopped_) continue;
        for (const Wire& sent : pull(self, now)) {
          deliver(sent, now);
          moved = true;
        }
      }
    }
  }

 private:
  static std::byte value(PeerId from, PeerId to, std::uint64_t i) {
    return static_cast<std::byte>(from * 37 + to * 101 + i * 7);
  }

  Exchange uniform(PeerId self, std::uint64_t bytes) {
    Exchange exchange;
    exchange.rounds = &rounds_[self];
    exchange.send = {send_[self].data(), bytes, bytes, {}, {}};
    exchange.recv = {recv_[self].data(), bytes, bytes, {}, {}};
    return exchange;
  }

  static constexpr std::uint64_t kRoom = 1000 * kPacket;

  PeerId ranks_;
  std::vector<std::uint64_t> places_;
  PeerId stopped_ = ~0u;
  std::vector<Channel> channels_;
  std::vector<Rounds> rounds_;
  std::vector<std::vector<std::byte>> send_, recv_;
};

}  // namespace alm::transport
