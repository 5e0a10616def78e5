// Packets that wait for a port together with others, and which of them it takes next (fifos.cc);
// ports that wait for each other for ever (deadlock.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network_state.h"
#include "sim/options.h"

namespace alm::sim {

class Fifos {
 public:
  Fifos(NetworkState& net, const Options& options) : net_(net), options_(options) {}
  Fifos(const Fifos&) = delete;
  Fifos& operator=(const Fifos&) = delete;

  void enqueue(std::uint32_t fifo, std::uint32_t index);
  // For those that wait for this port, now that it may be free.
  void arbitrate(std::uint32_t port);
  void input_free(std::uint32_t fifo);
  void on_credit(std::uint32_t port);

  void check_deadlock();
  // Ports that wait for each other in turn; empty: none were found.
  const std::vector<std::uint32_t>& deadlock() const { return deadlock_; }

 private:
  void request(std::uint32_t fifo);
  void schedule_arbitrate(std::uint32_t port, Picos when);
  Picos free_time(Port& port);
  void transmit(std::uint32_t port, std::uint32_t fifo);
  void watch_for_deadlock();
  std::vector<std::uint32_t> awaited(std::uint32_t port) const;

  NetworkState& net_;
  const Options& options_;
  std::uint32_t starved_ = 0;  // ports that wait for credit
  bool checking_ = false;
  std::vector<std::uint32_t> deadlock_;
};

}  // namespace alm::sim
