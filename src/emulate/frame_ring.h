// Frames that come in at the devices of a namespace: the ring of a packet socket (packet(7),
// PACKET_RX_RING) that the kernel fills in order and that is read in place.
//
// A frame stays where the kernel put it until it is released. The kernel needs free places ahead of
// it: a frame that still lies in one of them is moved out of the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace alm::emulate {

class FrameRing {
 public:
  // Receives from all devices of this thread's namespace.
  static base::Result<std::unique_ptr<FrameRing>> open(std::uint32_t frame_bytes_max);
  ~FrameRing();
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  struct Arrival {
    std::uint32_t id = 0;
    std::uint32_t device = 0;       // interface index
    std::uint64_t realtime_ns = 0;  // when the kernel had it
  };
  // The next frame that has come, if any. Frames that were cut short are skipped.
  std::optional<Arrival> next();
  // A struct virtio_net_hdr precedes each frame: it says how much of the checksum is left to do.
  static constexpr std::size_t kHeaderBytes = 10;  // <linux/virtio_net.h> is not valid C++
  std::span<std::byte> with_header(std::uint32_t id) {
    return {frames_[id].data, frames_[id].length};
  }
  std::span<std::byte> frame(std::uint32_t id) { return with_header(id).subspan(kHeaderBytes); }
  void release(std::uint32_t id);

  // To be called before the socket is polled: for poll(2) a ring is readable until the frame that
  // came last is released.
  void let_poll();
  int descriptor() const { return socket_; }
  // Frames lost because the ring was full or they did not fit into a place.
  std::uint64_t lost();

 private:
  struct Frame {
    std::byte* data = nullptr;
    std::uint32_t length = 0;
    std::uint32_t place = 0;  // in the ring; kMoved: in `moved`
    std::unique_ptr<std::byte[]> moved;
  };
  static constexpr std::uint32_t kMoved = UINT32_MAX, kFree = UINT32_MAX;

  FrameRing() = default;
  std::byte* place(std::uint32_t number) const;
  std::uint32_t take_id();
  void give_back(std::uint32_t number);
  void move_out(std::uint32_t number);

  int socket_ = -1;
  std::byte* ring_ = nullptr;
  std::uint32_t places_ = 0, place_bytes_ = 0, per_block_ = 0;
  std::size_t block_bytes_ = 0, ring_bytes_ = 0;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> holds_;  // by place: the frame that lies there
  std::vector<Frame> frames_;         // by id
  std::vector<std::uint32_t> free_;   // ids
  std::uint64_t cut_ = 0, dropped_ = 0;
};

}  // namespace alm::emulate
