#include "transport/io/round_trips.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "transport/io/endpoint.h"
#include "transport/io/hops.h"
#include "transport/io/udp_socket.h"

namespace alm::io {
namespace {

// The kernel that refuses a datagram sends its payload back.
struct Payload {
  std::uint32_t host = 0, attempt = 0;
};

// What the kernel's stamps tell.
base::Nanos wall_clock() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * base::kSecond + time.tv_nsec;
}

// When a refusal has come, by the kernel if it says so. Nothing: it is something else.
std::optional<base::Nanos> time_of_refusal(msghdr& message) {
  bool refused = false;
  base::Nanos came = wall_clock();
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    const int level = control->cmsg_level;
    if (level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
      came = stamp.tv_sec * base::kSecond + stamp.tv_nsec;
    } else if ((level == IPPROTO_IP && control->cmsg_type == IP_RECVERR) ||
               (level == IPPROTO_IPV6 && control->cmsg_type == IPV6_RECVERR)) {
      refused = is_refusal(*reinterpret_cast<const sock_extended_err*>(CMSG_DATA(control)));
    }
  }
  return refused ? std::optional(came) : std::nullopt;
}

class Asker {
 public:
  Asker(int fd, std::span<const Address> hosts, std::uint32_t datagram_bytes)
      : fd_(fd),
        hosts_(hosts),
        datagram_(std::max<std::size_t>(datagram_bytes, sizeof(Payload))),
        sent_(hosts.size()) {}

  void ask(Echoes::Question question) {
    const Payload payload{question.host, question.attempt};
    std::memcpy(datagram_.data(), &payload, sizeof payload);
    const Address& to = hosts_[question.host];
    sent_[question.host][question.attempt] = wall_clock();
    // An error of an earlier question is reported once, by whichever call comes next. What cannot
    // be sent has no answer.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (::sendto(fd_, datagram_.data(), datagram_.size(), MSG_DONTWAIT | MSG_NOSIGNAL, to.get(),
                   to.length) >= 0) {
        return;
      }
    }
  }

  void read(Echoes& echoes) {
    while (true) {
      alignas(cmsghdr) std::array<std::byte, 512> control;
      Payload payload;
      iovec part{&payload, sizeof payload};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const auto bytes = ::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
      if (bytes < 0) break;
      const auto came = time_of_refusal(message);
      if (!came || bytes != sizeof payload || payload.host >= hosts_.size() ||
          payload.attempt >= Echoes::kTries) {
        continue;
      }
      echoes.answered({payload.host, payload.attempt},
                      std::max<base::Nanos>(1, *came - sent_[payload.host][payload.attempt]));
    }
    int pending = 0;
    socklen_t length = sizeof pending;
    ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &pending, &length);  // reading clears it
  }

 private:
  int fd_;
  std::span<const Address> hosts_;
  std::vector<std::byte> datagram_;
  std::vector<std::array<base::Nanos, Echoes::kTries>> sent_;  // [host][attempt]
};

void set_port(Address& address, std::uint16_t port) {
  if (address.family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  }
}

}  // namespace

Echoes::Echoes(std::uint32_t hosts, std::uint32_t self, base::Nanos now, const Manner& manner)
    : self_(self),
      manner_(manner),
      end_(now + (manner.limit > 0 ? manner.limit : kPatiences * manner.patience)),
      least_(hosts, 0) {}

std::optional<Echoes::Question> Echoes::next(base::Nanos now) {
  while (!asked_.empty() && asked_.front().until <= now) {
    asked_.erase(asked_.begin());
    if (manner_.ends_in_silence) end_ = std::min(end_, now);
  }
  if (now >= end_ || next_ == all() || asked_.size() >= manner_.under_way) return std::nullopt;
  const std::uint64_t others = least_.size() - 1;
  // Neighbours ask different hosts first.
  const auto host = static_cast<std::uint32_t>((self_ + 1 + next_ % others) % least_.size());
  const Question question{host, static_cast<std::uint32_t>(next_ / others)};
  ++next_;
  asked_.push_back({question, now + manner_.patience});
  return question;
}

void Echoes::answered(Question question, base::Nanos round_trip) {
  base::Nanos& least = least_[question.host];
  if (least == 0 || round_trip < least) least = round_trip;
  std::erase_if(asked_, [&](const Asked& asked) { return asked.question == question; });
}

// Where the last answers stay out, and they often do, nothing is left to wait for.
base::Nanos Echoes::deadline() const {
  if (asked_.empty() && next_ == all()) return 0;
  return asked_.empty() ? end_ : std::min(end_, asked_.front().until);
}

base::Result<std::vector<base::Nanos>> measure_round_trips(const Address& local,
                                                           std::span<const Address> hosts,
                                                           std::uint32_t self,
                                                           const Echoes::Manner& manner) {
  UdpSocketOptions options;
  options.local = local;
  set_port(options.local, 0);
  options.datagram_bytes = manner.datagram_bytes;
  auto socket = UdpSocket::open(options);
  if (!socket) return socket.error();
  const int fd = socket.value().fd();
  const int on = 1;
  // Without stamps the process's own clock counts.
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  std::vector<Address> to(hosts.begin(), hosts.end());
  for (Address& address : to) set_port(address, kDiscardPort);
  Asker asker(fd, to, manner.datagram_bytes);
  base::Nanos now = monotonic_now();
  Echoes echoes(static_cast<std::uint32_t>(hosts.size()), self, now, manner);
  while (!echoes.done(now)) {
    while (const auto question = echoes.next(now)) asker.ask(*question);
    const base::Nanos wait = std::max<base::Nanos>(0, echoes.deadline() - now);
    const timespec limit{wait / base::kSecond, wait % base::kSecond};
    pollfd ready{fd, 0, 0};  // POLLERR comes unasked
    ::ppoll(&ready, 1, &limit, nullptr);
    asker.read(echoes);
    now = monotonic_now();
  }
  return echoes.least();
}

}  // namespace alm::io
