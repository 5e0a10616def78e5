// A segment as it travels. Data are positions in the stream, from 0; no bytes.
#pragma once

#include <array>
#include <cstdint>

namespace alm::tcp {

using Position = std::uint64_t;  // in the stream of one direction

struct Range {
  Position begin = 0, end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// As many as fit beside the timestamps.
constexpr std::uint32_t kSacksMax = 3;

struct Segment {
  Position begin = 0;
  std::uint32_t bytes = 0;  // 0: an acknowledgement alone
  bool resent = false;
  bool wants_marks = false;  // a switch may mark it (RFC 3168)
  bool marked = false;       // CE: one has
  bool echo = false;         // ECE: marked segments have come
  bool reduced = false;      // CWR: the sender has heard of them
  bool duplicate = false;    // the first of `sacks` is what came twice (RFC 2883)
  std::uint8_t sack_count = 0;
  Position ack = 0;                         // all before this has come
  std::array<Range, kSacksMax> sacks = {};  // the latest first

  Position end() const { return begin + bytes; }
};

}  // namespace alm::tcp
