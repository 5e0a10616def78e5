#include "emulate/frame_ring.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "emulate/packet_socket.h"

namespace alm::emulate {
namespace {

// What comes while the emulator is kept from its processor for some milliseconds.
constexpr std::uint32_t kPlaces = 4096;
constexpr std::uint32_t kPlaceBytesMin = 2048;
constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::uint32_t kAheadPart = 4;  // frames are moved out when so near: a part of the ring

template <class T>
bool set(int socket, int option, const T& value) {
  return ::setsockopt(socket, SOL_PACKET, option, &value, sizeof value) == 0;
}

std::uint32_t& status_of(std::byte* place) {
  return reinterpret_cast<tpacket2_hdr*>(place)->tp_status;
}

}  // namespace

base::Result<std::unique_ptr<FrameRing>> FrameRing::open(std::uint32_t frame_bytes_max) {
  std::unique_ptr<FrameRing> out(new FrameRing);
  out->socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (out->socket_ < 0) return packet_socket_error("cannot be opened");
  const int version = TPACKET_V2, on = 1;
  if (!set(out->socket_, PACKET_VERSION, version)) return packet_socket_error("TPACKET_V2");
  if (!set(out->socket_, PACKET_VNET_HDR, on)) return packet_socket_error("PACKET_VNET_HDR");
  if (!set(out->socket_, PACKET_IGNORE_OUTGOING, on)) {
    return packet_socket_error("PACKET_IGNORE_OUTGOING");
  }

  constexpr std::uint32_t kBeforeFrame = 128;  // headers of the ring, padding included
  out->place_bytes_ = std::max(kPlaceBytesMin, std::bit_ceil(frame_bytes_max + kBeforeFrame));
  out->block_bytes_ = std::max<std::size_t>(kBlockBytes, out->place_bytes_);
  out->per_block_ = static_cast<std::uint32_t>(out->block_bytes_ / out->place_bytes_);
  out->places_ = kPlaces;
  tpacket_req request{};
  request.tp_block_size = static_cast<unsigned>(out->block_bytes_);
  request.tp_block_nr = out->places_ / out->per_block_;
  request.tp_frame_size = out->place_bytes_;
  request.tp_frame_nr = out->places_;
  if (!set(out->socket_, PACKET_RX_RING, request)) return packet_socket_error("PACKET_RX_RING");
  out->ring_bytes_ = out->block_bytes_ * request.tp_block_nr;
  void* mapped =
      ::mmap(nullptr, out->ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, out->socket_, 0);
  if (mapped == MAP_FAILED) return packet_socket_error("its ring cannot be mapped");
  out->ring_ = static_cast<std::byte*>(mapped);
  out->holds_.assign(out->places_, kFree);

  sockaddr_ll all{};
  all.sll_family = AF_PACKET;
  all.sll_protocol = htons(ETH_P_ALL);
  if (::bind(out->socket_, reinterpret_cast<const sockaddr*>(&all), sizeof all) != 0) {
    return packet_socket_error("cannot be bound");
  }
  return out;
}

FrameRing::~FrameRing() {
  if (ring_ != nullptr) ::munmap(ring_, ring_bytes_);
  if (socket_ >= 0) ::close(socket_);
}

std::byte* FrameRing::place(std::uint32_t number) const {
  return ring_ + block_bytes_ * (number / per_block_) +
         std::size_t{place_bytes_} * (number % per_block_);
}

std::uint32_t FrameRing::take_id() {
  if (free_.empty()) {
    frames_.emplace_back();
    return static_cast<std::uint32_t>(frames_.size() - 1);
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  return id;
}

void FrameRing::give_back(std::uint32_t number) {
  holds_[number] = kFree;
  std::atomic_ref(status_of(place(number))).store(TP_STATUS_KERNEL, std::memory_order_release);
}

void FrameRing::move_out(std::uint32_t number) {
  Frame& frame = frames_[holds_[number]];
  frame.moved = std::make_unique_for_overwrite<std::byte[]>(frame.length);
  std::memcpy(frame.moved.get(), frame.data, frame.length);
  frame.data = frame.moved.get();
  frame.place = kMoved;
  give_back(number);
}

std::optional<FrameRing::Arrival> FrameRing::next() {
  for (;;) {
    std::byte* const at = place(next_);
    const std::uint32_t status = std::atomic_ref(status_of(at)).load(std::memory_order_acquire);
    if ((status & TP_STATUS_USER) == 0 || holds_[next_] != kFree) return std::nullopt;
    const auto& header = *reinterpret_cast<const tpacket2_hdr*>(at);
    const auto& from =
        *reinterpret_cast<const sockaddr_ll*>(at + TPACKET_ALIGN(sizeof(tpacket2_hdr)));
    const std::uint32_t number = next_;
    next_ = (next_ + 1) % places_;
    const std::uint32_t ahead = (number + places_ / kAheadPart) % places_;
    if (holds_[ahead] != kFree) move_out(ahead);
    if (header.tp_snaplen < header.tp_len) {
      ++cut_;
      give_back(number);
      continue;
    }
    const std::uint32_t id = take_id();
    Frame& frame = frames_[id];
    frame.data = at + header.tp_mac - kHeaderBytes;
    frame.length = header.tp_snaplen + static_cast<std::uint32_t>(kHeaderBytes);
    frame.place = number;
    holds_[number] = id;
    constexpr std::uint64_t kNanos = 1'000'000'000;
    return Arrival{id, static_cast<std::uint32_t>(from.sll_ifindex),
                   header.tp_sec * kNanos + header.tp_nsec};
  }
}

void FrameRing::release(std::uint32_t id) {
  Frame& frame = frames_[id];
  if (frame.place != kMoved) give_back(frame.place);
  frame.moved.reset();
  free_.push_back(id);
}

void FrameRing::let_poll() {
  const std::uint32_t last = (next_ + places_ - 1) % places_;
  if (holds_[last] != kFree) move_out(last);
}

std::uint64_t FrameRing::lost() {
  tpacket_stats stats{};
  socklen_t length = sizeof stats;
  if (::getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0) {
    dropped_ += stats.tp_drops;  // reading sets it back
  }
  return dropped_ + cut_;
}

}  // namespace alm::emulate
