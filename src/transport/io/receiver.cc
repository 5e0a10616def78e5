#include "transport/io/receiver.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace alm::io {

// Not value-initialised: untouched pages stay out of memory.
Receiver::Receiver() : buffers_(new std::byte[kBatch * kBufferBytes]) {
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts_[i] = {buffers_.get() + i * kBufferBytes, kBufferBytes};
    msghdr& header = messages_[i].msg_hdr;
    header.msg_iov = &parts_[i];
    header.msg_iovlen = 1;
    header.msg_name = &from_[i].storage;
    header.msg_control = controls_[i].bytes.data();
  }
}

std::size_t Receiver::receive(int fd, std::uint32_t& overflow_seen, const Endpoint::Sink& sink,
                              EndpointCounters& counters) {
  std::size_t datagrams = 0;
  for (std::size_t batch = 0; batch < kBatchesPerCall; ++batch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      messages_[i].msg_hdr.msg_namelen = sizeof(sockaddr_storage);
      messages_[i].msg_hdr.msg_controllen = controls_[i].bytes.size();
    }
    const int count = ::recvmmsg(fd, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
    ++counters.receive_calls;
    if (count < 0) {
      if (errno == EAGAIN) break;
      if (errno == EINTR) continue;
      // An ICMP message about something sent earlier; the queue may hold datagrams behind it. The
      // message stays in the error queue, and counts when clear_errors() empties that: it may be an
      // answer to a question (hops.h).
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      datagrams += deliver(i, overflow_seen, sink, counters);
    if (static_cast<std::size_t>(count) < kBatch) break;
  }
  return datagrams;
}

std::size_t Receiver::deliver(std::size_t index, std::uint32_t& overflow_seen,
                              const Endpoint::Sink& sink, EndpointCounters& counters) {
  msghdr& header = messages_[index].msg_hdr;
  const std::size_t total = messages_[index].msg_len;
  std::size_t segment = std::max<std::size_t>(total, 1);
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO) {
      int size = 0;  // an int here, although UDP_SEGMENT takes 16 bits
      std::memcpy(&size, CMSG_DATA(control), sizeof size);
      if (size > 0) segment = static_cast<std::size_t>(size);
    } else if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t seen = 0;
      std::memcpy(&seen, CMSG_DATA(control), sizeof seen);
      counters.receive_overflow += seen - overflow_seen;
      overflow_seen = seen;
    }
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    ++counters.truncated;
    return 0;
  }
  from_[index].length = header.msg_namelen;
  const auto* bytes = static_cast<const std::byte*>(parts_[index].iov_base);
  std::size_t datagrams = 0;
  std::size_t offset = 0;
  do {  // an empty datagram is one, too
    const std::size_t length = std::min(segment, total - offset);
    sink(from_[index], {bytes + offset, length});
    offset += length;
    ++datagrams;
  } while (offset < total);
  counters.datagrams_received += datagrams;
  return datagrams;
}

}  // namespace alm::io
