// Window, grain and their bounds from the cluster file (000 Eq 4, reference section 3).
//
// Eq 4: the port with the least B_L / nu gives the window. An uplink that carries all that its
// switch can take in (d1 * c1 <= c2) never holds more than a packet per input. That port does not
// count if its queue is as long, unless the switch is input-buffered: there the head of line waits
// for whichever port, and Eq 4 stands as published.
//
// What is enough: ceil(L / g) packets keep a host busy over the longest route, and two more,
// because packets meet by chance and the port that one of them keeps busy leaves another idle.
// Where Eq 4 allows ceil(L / g), it bounds the two; so does a port that is the limit, where what is
// outstanding beyond those under way waits. An uplink that is the limit makes a host lambda > 1
// times slower than its link: L / (lambda g) are under way. Half of its places are for what waits,
// the others for acknowledgements and for packets that come together. What Eq 4 allows beyond that
// loses nothing: hosts pause, and what others have outstanding bridges that. It is not sent where
// heads of lines wait, because what waits stands in the way of others.
//
// Where Eq 4 allows less, what is under way is sent all the same, L / (lambda g), and two more as
// far as a port that is the limit has places: spread over a long route few packets meet, and what
// is lost costs less than links that idle. Trains stay together and keep to Eq 4 (docs/adr/0092).
//
// All this is for blocks of several packets. Where a block is a single one, ranks begin together
// and end when the first window has hardly left; what is lost takes longer than all else. There no
// more may wait at a port that is the limit than half of its places, whatever keeps hosts busy.
//
// An exchange so small that all of it fits the queues needs no window: n(p-n)/(p-1) of what each
// rank sends crosses a link, so B_L / nu packets per rank fit, the same figure with the ports that
// cannot fill up left out whatever their switch (an input buffer holds the packets of one host
// only). A switch that waits instead of dropping loses nothing: what is beyond enough only stands
// in other packets' way there.
#include "plan/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plan/ports.h"
#include "topology/graph.h"

namespace alm::plan {
namespace {

using topology::Adjacency;
using topology::Cluster;
using topology::Edge;
using topology::Link;
using topology::NodeId;

constexpr std::uint32_t kGsoBytesMax = 65507;  // what one UDP_SEGMENT send may carry
constexpr std::uint32_t kGsoSegmentsMax = 64;  // UDP_MAX_SEGMENTS
// A train fills the link for as long as one full frame does at 1 Gbit/s: a send call costs a few
// microseconds, so that one core keeps up and slower links keep the packet shuffle of the papers.
constexpr double kTrainUs = 12.112;
constexpr std::uint32_t kTrainsPerWindow = 4;  // keeps g * nu within a quarter of the queue
constexpr double kLeast = 2;                   // one packet on the way and one that is sent
constexpr double kSpare = 2;                   // packets beyond those that keep a host busy
constexpr double kUplinkPart = 1.0 / 2;        // of the queue at the limit, for what waits
// Packets of several senders meet at a port by chance. Queues of many places do not fill by that,
// short ones do where all that may be outstanding fits them exactly (docs/adr/0004).
constexpr double kShortQueue = 24;
constexpr double kPartOfShort = 0.5;
// Where nothing is lost. On Myrinets 4 to 8 packets give 98 % of the limit (docs/adr/0035).
constexpr double kLeastLossless = 4;
constexpr double kSpareLossless = 0.1;  // of what is under way

// Whole packets, at least one.
std::uint32_t packets(double value) {
  constexpr double kMost = 1e9;  // queues are 32-bit counts
  return static_cast<std::uint32_t>(std::clamp(std::floor(value + kTolerance), 1.0, kMost));
}

class Tuner {
 public:
  Tuner(const Cluster& cluster, std::span<const base::HostId> hosts)
      : cluster_(cluster), adjacency_(cluster), hosts_(hosts) {}

  Tuning run() {
    out_.mtu_bytes = cluster_.framing.mtu_bytes;
    set_host_rate();
    set_latency();
    ports_ = ports_of(cluster_, hosts_, out_.host_rate_mbit_s);
    if (!ports_.empty()) set_window();
    set_grain();
    return std::move(out_);
  }

 private:
  double frame_us(double rate_mbit_s) const {
    constexpr double kBitsPerByte = 8;
    return (cluster_.framing.mtu_bytes + cluster_.framing.link_header_bytes) * kBitsPerByte /
           rate_mbit_s;
  }

  // The exchange is symmetric, so that its slowest link sets the pace of everybody.
  void set_host_rate() {
    for (const base::HostId host : hosts_) {
      double rate = 0;
      for (const Edge& edge : adjacency_[host.value]) {
        const Link& link = cluster_.links[edge.link];
        rate =
            std::max(rate, std::min(rate_from(link, host.value), rate_towards(link, host.value)));
      }
      if (rate > 0 && (out_.host_rate_mbit_s == 0 || rate < out_.host_rate_mbit_s)) {
        out_.host_rate_mbit_s = rate;
      }
    }
    if (out_.host_rate_mbit_s > 0) out_.packet_time_us = frame_us(out_.host_rate_mbit_s);
  }

  // A cut-through switch passes the head of a frame on at once; all others wait for its tail.
  double hop_us(std::uint32_t node, const Link& link) const {
    const bool cut_through = !cluster_.is_host(NodeId{node}) &&
                             cluster_.switches[node - cluster_.host_count()].switching ==
                                 topology::Switching::kCutThrough;
    return link.latency_us + (cut_through ? 0 : frame_us(rate_from(link, node)));
  }

  // How long a frame takes from a node to each participant.
  struct Times {
    std::uint32_t farthest = 0;
    double longest_us = 0;
  };
  Times times_from(std::uint32_t start) const {
    const auto best = topology::least_times_from(
        cluster_, adjacency_, start,
        [&](std::uint32_t node, const Link& link) { return hop_us(node, link); });
    Times out{start};
    for (const base::HostId host : hosts_) {
      if (best[host.value] > out.longest_us) {
        out.farthest = host.value;
        out.longest_us = best[host.value];
      }
    }
    return out;
  }

  // Twice to the farthest: in a tree that is the longest route.
  void set_latency() {
    if (hosts_.size() < 2) return;
    const Times one = times_from(hosts_.front().value), other = times_from(one.farthest);
    out_.latency_us = std::max(one.longest_us, other.longest_us);
    if (out_.packet_time_us > 0) {
      out_.window_packets_min = static_cast<std::uint32_t>(
          std::max(1.0, std::ceil(out_.latency_us / out_.packet_time_us - kTolerance)));
    }
  }

  void set_window() {
    double slowdown = 1;  // lambda
    for (const Port& port : ports_) slowdown = std::max(slowdown, port.load);
    under_way_ = out_.latency_us / (out_.packet_time_us * slowdown);
    const Port* contended = shortest(counts);
    const Port* filled = shortest([](const Port& port) { return port.fills_up && !port.waits; });
    if (contended != nullptr && loses()) out_.window_packets_max = packets(eq4());
    out_.window_packets = packets(window());
    out_.burst_packets = filled == nullptr ? out_.window_packets : packets(eq4(*filled));
    warn_queue();
    const double single = at_limit();
    if (single < out_.window_packets) out_.single_window_packets = packets(single);
    if (contended == nullptr) return;
    out_.nu = contended->nu;
    out_.window_with_acks = packets(eq4(*contended) / 2);
    out_.contended_port = contended->name;
  }

  bool loses() const {
    return std::any_of(ports_.begin(), ports_.end(), [](const Port& port) { return !port.waits; });
  }

  bool is_limit(const Port& port) const { return port.load > 1 + kTolerance; }

  double window() const {
    if (!loses()) return std::max(kLeastLossless, std::ceil(under_way_ * (1 + kSpareLossless) + 1));
    const double needed = out_.window_packets_min, allowed = std::max(1.0, eq4());
    if (packets(allowed) < needed) {
      const double all = std::ceil(under_way_ - kTolerance);
      return std::max({kLeast, all, std::min(all + kSpare, at_limit())});
    }
    const double most = std::max(needed, std::floor(std::min(allowed, at_limit())));
    return std::max({kLeast, std::min(needed + kSpare, most), harmless()});
  }

  // So much loses nothing and stands in nobody's way.
  double harmless() const {
    double least = at_limit();
    for (const Port& port : ports_) {
      if (port.input_buffered) return 0;
      if (port.waits || !port.fills_up || is_limit(port)) continue;
      least = std::min(least, eq4(port) * (port.queue < kShortQueue ? kPartOfShort : 1));
    }
    return std::isinf(least) ? 0 : least;
  }

  // What waits at most where ports are the limit, and what is under way.
  double at_limit() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Port& port : ports_) {
      if (port.waits || !is_limit(port)) continue;
      least = std::min(least, std::floor(under_way_ + kUplinkPart * port.queue / port.hosts));
    }
    return least;
  }

  static bool counts(const Port& port) { return port.fills_up || port.input_buffered; }
  static bool drops(const Port& port) { return counts(port) && !port.waits; }
  static double eq4(const Port& port) { return port.queue / port.nu; }
  double eq4() const {
    const Port* port = shortest(drops);
    return port == nullptr ? std::numeric_limits<double>::infinity() : eq4(*port);
  }
  // Of such ports the one where Eq 4 allows the least; null: there is none.
  template <typename Matches>
  const Port* shortest(Matches matches) const {
    const Port* least = nullptr;
    for (const Port& port : ports_) {
      if (matches(port) && (least == nullptr || eq4(port) < eq4(*least))) least = &port;
    }
    return least;
  }

  void set_grain() {
    if (out_.packet_time_us <= 0) return;
    const std::uint32_t payload =
        std::max(cluster_.framing.mtu_bytes, topology::kIpUdpBytes + 1) - topology::kIpUdpBytes;
    const std::uint32_t by_kernel = std::clamp(kGsoBytesMax / payload, 1u, kGsoSegmentsMax);
    const std::uint32_t by_queue = std::max(1u, out_.held_packets() / kTrainsPerWindow);
    const auto by_rate = static_cast<std::uint32_t>(
        std::clamp(std::ceil(kTrainUs / out_.packet_time_us - kTolerance), 1.0,
                   static_cast<double>(kGsoSegmentsMax)));
    out_.grain_packets = std::min({by_rate, by_queue, by_kernel});
  }

  // Phases between sites are paced and have windows of their own (plan/far.h).
  void warn_queue() {
    const Port* least = shortest(drops);
    if (least == nullptr) return;
    if (std::min(out_.window_packets, out_.window_packets_min) <= packets(eq4(*least))) return;
    if (!topology::sites(cluster_).of.empty()) return;
    out_.warnings.push_back(fmt::format(
        "{} packets of each host are under way over {:.0f} us, but the queue of {} packets at {} "
        "(nu = {:.2f}) surely holds {} of each: packets may be lost and sent again; a longer queue "
        "there would help",
        out_.window_packets, out_.latency_us, least->queue, least->name, least->nu,
        eq4(*least) < 1 ? "not one" : fmt::format("{}", packets(eq4(*least)))));
  }

  const Cluster& cluster_;
  Adjacency adjacency_;
  std::span<const base::HostId> hosts_;
  std::vector<Port> ports_;
  double under_way_ = 0;  // L / (lambda g)
  Tuning out_;
};

}  // namespace

Tuning tune(const Cluster& cluster, std::span<const base::HostId> hosts) {
  return Tuner(cluster, hosts).run();
}

}  // namespace alm::plan
