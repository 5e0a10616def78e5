#include "transport/io/sender.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace alm::io {

void TrainRefusals::add(const Address& to) {
  if (contains(to)) return;
  if (list_.size() == kMax) {
    all_ = true;
  } else {
    list_.push_back(to);
  }
}

bool TrainRefusals::contains(const Address& to) const {
  return all_ || std::find(list_.begin(), list_.end(), to) != list_.end();
}

Sender::Sender() {
  for (auto& control : controls_) {
    auto* header = reinterpret_cast<cmsghdr*>(control.bytes.data());
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  }
}

// Equal sizes to one address; the last may be shorter, and ends the train.
std::size_t Sender::train_length(std::size_t limit, std::span<const SendItem> items) const {
  const std::size_t segment = items[0].bytes();
  std::size_t total = segment;
  std::size_t length = 1;
  while (length < std::min({items.size(), limit, kTrainSegmentsMax})) {
    const SendItem& next = items[length];
    const std::size_t bytes = next.bytes();
    if (next.to != items[0].to || bytes > segment || bytes == 0 || total + bytes > kTrainBytesMax)
      break;
    total += bytes;
    ++length;
    if (bytes < segment) break;
  }
  if (length > 1 && !refusals_.empty() && refusals_.contains(*items[0].to)) return 1;
  return length;
}

std::size_t Sender::build(std::size_t train_packets, std::span<const SendItem> items) {
  std::size_t message = 0, part = 0;
  for (std::size_t i = 0; i < items.size(); ++message) {
    const std::size_t length = train_length(train_packets, items.subspan(i));
    msghdr& header = messages_[message].msg_hdr;
    header.msg_name = const_cast<sockaddr_storage*>(&items[i].to->storage);
    header.msg_namelen = items[i].to->length;
    header.msg_iov = &parts_[part];
    for (std::size_t k = 0; k < length; ++k) {
      const SendItem& item = items[i + k];
      parts_[part++] = {const_cast<std::byte*>(item.head.data()), item.head.size()};
      if (!item.payload.empty()) {
        parts_[part++] = {const_cast<std::byte*>(item.payload.data()), item.payload.size()};
      }
    }
    header.msg_iovlen = static_cast<std::size_t>(&parts_[part] - header.msg_iov);
    header.msg_flags = 0;
    if (length > 1) {
      const auto segment = static_cast<std::uint16_t>(items[i].bytes());
      std::memcpy(CMSG_DATA(reinterpret_cast<cmsghdr*>(controls_[message].bytes.data())), &segment,
                  sizeof segment);
      header.msg_control = controls_[message].bytes.data();
      header.msg_controllen = controls_[message].bytes.size();
    } else {
      header.msg_control = nullptr;
      header.msg_controllen = 0;
    }
    segments_[message] = static_cast<std::uint16_t>(length);
    i += length;
  }
  return message;
}

SendResult Sender::send(int fd, std::size_t train_packets, std::span<const SendItem> items,
                        EndpointCounters& counters) {
  SendResult result;
  while (result.taken < items.size()) {
    const std::size_t count = build(train_packets, items.subspan(result.taken));
    const int sent =
        ::sendmmsg(fd, messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
    ++counters.send_calls;
    if (sent > 0) {
      retried_ = false;
      for (int m = 0; m < sent; ++m) {
        result.taken += segments_[m];
        counters.datagrams_sent += segments_[m];
        counters.trains_sent += segments_[m] > 1;
      }
      if (static_cast<std::size_t>(sent) == count) continue;
      // The errno of the message that stopped it is lost. Nearly always the buffer is full; if not,
      // POLLOUT comes at once and the next call brings the true reason.
      ++counters.would_block;
      result.stop = SendResult::Stop::kFull;
      return result;
    }
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
        ++counters.would_block;
        result.stop = SendResult::Stop::kFull;
        return result;
      case ENOBUFS:
      case ENOMEM:
        ++counters.no_buffers;
        result.stop = SendResult::Stop::kNoBuffers;
        return result;
      default: {
        std::size_t given_up = 0;
        survive(errno, items.subspan(result.taken), counters, given_up);
        result.taken += given_up;
      }
    }
  }
  return result;
}

// An error of the first message that waiting does not cure. Sets how many of the items to give up.
void Sender::survive(int error, std::span<const SendItem> items, EndpointCounters& counters,
                     std::size_t& given_up) {
  const std::size_t length = segments_[0];
  if (length > 1 && (error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP)) {
    refusals_.add(*items[0].to);
    ++counters.gso_fallbacks;
    return;
  }
  if (error == EMSGSIZE) {
    ++counters.oversized;
    given_up = 1;
    return;
  }
  // An ICMP message about an earlier datagram is reported once, by whichever call comes next. It
  // stays in the error queue, and counts when clear_errors() empties that: it may be an answer to a
  // question (hops.h).
  if (!retried_) {
    retried_ = true;
    return;
  }
  // It is this destination (no route, a filter): the datagram counts as lost; others go on.
  retried_ = false;
  ++counters.refused;
  given_up = length;
}

}  // namespace alm::io
