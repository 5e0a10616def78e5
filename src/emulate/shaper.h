// Stops hosts and lets them go on, as a switch does with back-pressure (pause frames, or credits).
// The host's egress is a token bucket; a stopped one gets a rate at which nothing leaves for
// minutes. So the host's packets wait in its own queue, and its sockets notice. A waiting bucket
// looks at its new rate only when a frame is sent, so let_go() sends an empty frame through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace alm::emulate {

// A host's device and how its token bucket was made (lab/boot_plan.py, shaping).
struct Shaped {
  int process = 0;  // one in the host's network namespace
  std::string device;
  double rate_mbit_s = 0;
  std::uint32_t frame_bytes = 0, queue_packets = 0;
  int overhead_bytes = 0;  // of a frame on the link, beyond the Ethernet header
};

class Shaper {
 public:
  static base::Result<std::unique_ptr<Shaper>> open(const std::vector<Shaped>& hosts);
  ~Shaper();
  Shaper(const Shaper&) = delete;
  Shaper& operator=(const Shaper&) = delete;

  void stop(std::uint32_t number) { change(number, false); }
  void let_go(std::uint32_t number) { change(number, true); }
  // From the next let_go() on the host gets this part of its original rate.
  void set_rate(std::uint32_t number, double part);
  // Empty frames that its queue had no room for, which the kernel counts as dropped there.
  std::uint64_t wakes_dropped(std::uint32_t number) const { return ports_[number].wakes_dropped; }
  // Changes that the kernel refused.
  std::uint64_t refused() const { return refused_; }

 private:
  struct Port {
    Shaped made;
    int netlink = -1, waker = -1, device = 0;
    std::vector<std::byte> stop, go;  // netlink messages
    std::uint64_t wakes_dropped = 0;
  };

  Shaper() = default;
  void change(std::uint32_t number, bool go);
  static void wake(Port& port);

  std::vector<Port> ports_;
  std::uint64_t refused_ = 0;
};

}  // namespace alm::emulate
