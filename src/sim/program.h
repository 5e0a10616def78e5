// What runs on the simulated hosts: a simulator asks it for packets and hands it those that arrive.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/packet.h"
#include "sim/time.h"

namespace alm::sim {

enum class Nearness : std::uint8_t { kFar, kNearer, kNext };

// The program that runs on the hosts.
class Program {
 public:
  virtual ~Program() = default;
  // The next packet of this host, if it has one to send now: fills destination, flow, bytes, label.
  virtual bool pull(std::uint32_t host, Picos now, std::uint32_t index, Packet& packet) = 0;
  virtual void receive(std::uint32_t host, Picos now, std::uint32_t index,
                       const Packet& packet) = 0;
  // deadline() of the host has come; pull() follows.
  virtual void timer(std::uint32_t host, Picos now) = 0;
  virtual Picos deadline(std::uint32_t host) const = 0;  // kNever: none
  virtual bool done() const = 0;
  // The packet will not arrive: a queue dropped it or a link lost it.
  virtual void lost(std::uint32_t /*index*/) {}
  // The packet found a queue that is long enough for its switch to mark it.
  virtual void marked(std::uint32_t /*index*/) {}
  // The packet is on the last link of its route and reaches its host at `at`. `surely` is false if
  // the link has faults.
  virtual void due(Picos /*at*/, std::uint32_t /*index*/, bool /*surely*/) {}
  // If outgrows_cache() is true, the simulator gives hints: expect() up to three times as a packet
  // comes nearer to a host, which it may never reach, and expect_pull() before a pull. They may
  // only prefetch.
  virtual bool outgrows_cache() const { return false; }
  virtual void expect(std::uint32_t /*index*/, Nearness) const {}
  virtual void expect_pull(std::uint32_t /*host*/) const {}

  // Whether wake_all() has been called since the last call: then all hosts are pulled.
  bool take_wake() { return std::exchange(wake_, false); }

 protected:
  void wake_all() { wake_ = true; }

 private:
  bool wake_ = false;
};

}  // namespace alm::sim
