#include "transport/io/hops.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace alm::io {
namespace {

// Shorter than any header of ours: where it arrives after all, it is dropped unread.
constexpr std::array<std::byte, 4> kProbePayload{};
// A soft error of an earlier probe is reported once, by whichever call comes next.
constexpr int kSendTries = 3;
constexpr int kEntriesMax = 256;

// The router that has answered; length 0: a host has answered. Nothing: this is no answer.
std::optional<Address> router_of(const msghdr& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(const_cast<msghdr*>(&message), control)) {
    const bool v4 = control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVERR;
    const bool v6 = control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_RECVERR;
    if (!v4 && !v6) continue;
    const auto* error = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(control));
    if (is_refusal(*error)) return Address{};
    const bool icmp = error->ee_origin == SO_EE_ORIGIN_ICMP;
    const bool icmp6 = error->ee_origin == SO_EE_ORIGIN_ICMP6;
    const bool expired = (icmp && error->ee_type == ICMP_TIME_EXCEEDED) ||
                         (icmp6 && error->ee_type == ICMP6_TIME_EXCEEDED);
    if (!expired) continue;
    const sockaddr* offender = SO_EE_OFFENDER(error);
    Address router;
    if (offender->sa_family == AF_INET) {
      router.length = sizeof(sockaddr_in);
    } else if (offender->sa_family == AF_INET6) {
      router.length = sizeof(sockaddr_in6);
    } else {
      continue;
    }
    std::memcpy(&router.storage, offender, router.length);
    return router;
  }
  return std::nullopt;
}

}  // namespace

bool is_refusal(const sock_extended_err& error) {
  if (error.ee_origin == SO_EE_ORIGIN_ICMP) {
    return error.ee_type == ICMP_DEST_UNREACH && error.ee_code == ICMP_PORT_UNREACH;
  }
  return error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == ICMP6_DST_UNREACH &&
         error.ee_code == ICMP6_DST_UNREACH_NOPORT;
}

bool send_to_hop(int fd, const Address& to, std::uint8_t hops) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  iovec part{const_cast<std::byte*>(kProbePayload.data()), kProbePayload.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr_storage*>(&to.storage);
  message.msg_namelen = to.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* ttl = CMSG_FIRSTHDR(&message);
  ttl->cmsg_level = to.family() == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
  ttl->cmsg_type = to.family() == AF_INET6 ? IPV6_HOPLIMIT : IP_TTL;
  ttl->cmsg_len = CMSG_LEN(sizeof(int));
  const int value = hops;
  std::memcpy(CMSG_DATA(ttl), &value, sizeof value);
  for (int attempt = 0; attempt < kSendTries; ++attempt) {
    if (::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return false;
  }
  return true;  // it cannot be sent: no answer will come
}

void read_hops(int fd, std::uint8_t socket, std::vector<HopAnswer>& out) {
  for (int entry = 0; entry < kEntriesMax; ++entry) {
    alignas(cmsghdr) std::array<std::byte, 512> control;
    std::array<std::byte, 64> payload;
    HopAnswer answer{.socket = socket, .to = {}, .router = {}};
    iovec part{payload.data(), payload.size()};
    msghdr message{};
    message.msg_name = &answer.to.storage;
    message.msg_namelen = sizeof answer.to.storage;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    answer.to.length = message.msg_namelen;
    if (auto router = router_of(message)) {
      answer.router = *router;
      out.push_back(answer);
    }
  }
  int pending = 0;
  socklen_t length = sizeof pending;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &pending, &length);  // reading clears it
}

}  // namespace alm::io
