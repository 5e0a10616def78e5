// How soon a frame can be on a link, and how soon after it has left that link it can be at a
// receiver: over an idle network, with each link's frame time and latency. The bound of an exchange
// (bound.h) rests on these times.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace alm::topology {

// For frames of one size, from the nearest sender behind a link and to the nearest receiver beyond
// it. Frames do not turn back. The cluster and its adjacency must outlive this.
class LeastTimes {
 public:
  // `sends`, `receives`: by host.
  LeastTimes(const Cluster& cluster, const Adjacency& adjacency, const std::vector<bool>& sends,
             const std::vector<bool>& receives, double frame_bytes);

  // before(): seconds from the start of the exchange until a frame can begin to leave `node` by a
  // link. after(): seconds from the end of the frame on that link to its end at a receiver.
  // Infinite where there is no sender or no receiver.
  double before(std::uint32_t link, std::uint32_t node) const;
  double after(std::uint32_t link, std::uint32_t node) const;

 private:
  // Two times of a frame, for its first and its last bit: when the bit can be at a node, or how
  // long after it the frame can be complete at a receiver.
  struct Ends {
    double first, last;
    bool operator==(const Ends&) const = default;
  };

  static std::size_t at(const Link& link, std::uint32_t index, std::uint32_t node) {
    return 2 * std::size_t{index} + (link.from.value == node ? 0 : 1);
  }
  double frame_seconds(const Link& link, std::uint32_t node) const;
  bool is_cut_through(std::uint32_t node) const;
  Ends carried(const Link& link, std::uint32_t node, const Ends& begin) const;
  Ends led_up(const Link& link, std::uint32_t node, const Ends& end) const;
  bool settle_before(const Adjacency& adjacency, std::uint32_t node, bool sends);
  bool settle_after(const Adjacency& adjacency, std::uint32_t node, bool receives);

  const Cluster& cluster_;
  const double frame_bits_;
  // By directed link: before_ at its sending end, after_ at its receiving end.
  std::vector<Ends> before_, after_;
};

}  // namespace alm::topology
