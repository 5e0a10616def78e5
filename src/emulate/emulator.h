// The loop of a lab's emulator: it takes in frames, advances the simulated network to the present,
// sends what has reached its host there, and sleeps until something is due.
//
// No frame reaches a host sooner than by the shortest route. So the emulator need not look at every
// frame when it comes: it wakes when something is due, and once in the time of the shortest route
// while anything is in the network; with an empty network it wakes when a frame comes. Frames carry
// the time at which the kernel had them, and enter the simulated network at that time. Waking up is
// expensive, so frames that are due at almost the same time leave together.
#pragma once

#include <time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "emulate/control.h"
#include "emulate/counters.h"
#include "emulate/frame_ring.h"
#include "emulate/frame_sender.h"
#include "emulate/interfaces.h"
#include "emulate/network.h"
#include "emulate/shaper.h"

namespace alm::emulate {

struct Settings {
  std::string cluster_file;
  std::string directory;  // of the lab, for counters and control socket
  routing::Rule rule = routing::Rule::kDModK;
  std::uint32_t output_frames = sim::Options{}.output_frames;  // see sim::Options
  bool routers = false;        // switches count down the TTL of what they pass on, and answer
  std::vector<int> processes;  // by host: a process in its network namespace
};

class Emulator {
 public:
  static base::Result<std::unique_ptr<Emulator>> make(const Settings& settings);

  [[noreturn]] void run();
  void set_realtime(bool realtime) { counters_->header().realtime = realtime ? 1 : 0; }

 private:
  Emulator() = default;

  base::Status find_devices();
  base::Status open_shaper(const Settings& settings);
  bool take_frames();
  void take_frame(const FrameRing::Arrival& arrival);
  bool refuse(std::span<const std::byte> frame, const Entering& entering, Picos at);
  void answer_later(std::vector<std::byte> text, std::uint32_t to, Picos due);
  void deliver();
  void deliver_answers(Picos now);
  void count_late(Picos late, Picos frame_time);
  void settle();
  void obey();
  std::string carry_out(const std::string& text);
  void publish(Picos now);
  void sleep(bool frames_came);
  void wait_for_frames(Picos until);
  std::uint32_t switches_between(std::uint32_t from, std::uint32_t to);

  struct Clock {
    Picos now() const;  // since the start
    Picos of_realtime(std::uint64_t ns) const;
    timespec when(Picos time) const;
    void adjust();               // to what CLOCK_REALTIME is now
    std::int64_t begin_ns = 0;   // CLOCK_MONOTONIC
    std::int64_t offset_ns = 0;  // CLOCK_MONOTONIC less CLOCK_REALTIME
  };

  topology::Cluster cluster_;  // a host for each interface
  std::vector<Interface> interfaces_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;  // by host and number
  std::vector<std::uint32_t> of_device_;  // by interface index: interface, or sim::kNone
  std::vector<std::uint32_t> device_;     // by interface
  std::int32_t link_header_bytes_ = 0;
  bool routers_ = false, withdrawn_ = false;
  std::vector<std::uint8_t> hops_;  // [from][to]: switches between two interfaces; 0: not known

  std::unique_ptr<Network> network_;
  std::unique_ptr<FrameRing> ring_;
  std::unique_ptr<FrameSender> sender_;
  std::unique_ptr<CountersFile> counters_;
  std::unique_ptr<ControlSocket> control_;
  std::unique_ptr<Shaper> shaper_;
  struct Answer {
    std::vector<std::byte> frame;  // with header
    std::uint32_t to = 0;
  };
  std::multimap<Picos, Answer> answers_;
  Clock clock_;
  CountersHeader counts_;
  bool dirty_ = false, deadlocked_ = false;
  Picos published_ = 0;
  Picos tolerated_ = 0;  // by which a frame may be early or late
  Picos overslept_ = 0;  // by which a sleep lasts too long, on average
};

}  // namespace alm::emulate
