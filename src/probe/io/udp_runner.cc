#include "probe/io/udp_runner.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>

namespace alm::probe::io {
namespace {

using alm::io::Address;
using alm::io::UdpSocket;

// What a socket without a pace may have waiting for the link, so that it stops when that is full.
// The link works on while the process is not called.
constexpr std::uint32_t kUnpacedPackets = 32;
// Paced packets may be anywhere: where hosts share a kernel they count until they are received, and
// must be able to fill every queue on the way.
constexpr std::uint32_t kPacedPackets = 2048;
constexpr std::uint32_t kReceiveBufferBytes = 8u << 20;
constexpr std::uint32_t kEthernetMtu = 9000;
// A wait shorter than this is spent looking at the clock: sleeping is not that exact.
constexpr Nanos kSpin = 60 * base::kMicrosecond;
constexpr std::size_t kReceiveBytes = 2048;
constexpr std::size_t kControlBytes = 256;
constexpr unsigned kReceivesPerTurn = 64;

Nanos nanos(const timespec& time) { return time.tv_sec * base::kSecond + time.tv_nsec; }

// What the kernel says of a datagram besides its bytes.
struct Stamps {
  Nanos at = 0;
  Nanos left = 0;         // of what this host has sent itself
  bool is_error = false;  // ICMP: the kernel stamps that, too
  std::uint32_t overflow = 0;
  bool has_overflow = false;
};

void allow_packets(const UdpSocket& socket, std::uint32_t datagram_bytes, std::uint32_t packets) {
  // The kernel doubles what it is given.
  const int bytes =
      static_cast<int>(packets * alm::io::kernel_bytes_per_packet(datagram_bytes) / 2);
  for (const int option : {SO_SNDBUF, SO_SNDBUFFORCE}) {
    ::setsockopt(socket.fd(), SOL_SOCKET, option, &bytes, sizeof bytes);
  }
}

Stamps stamps_of(msghdr& message) {
  Stamps out;
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    const bool recverr = (one->cmsg_level == SOL_IP && one->cmsg_type == IP_RECVERR) ||
                         (one->cmsg_level == SOL_IPV6 && one->cmsg_type == IPV6_RECVERR);
    if (recverr) {
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(one), sizeof error);
      out.is_error = error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING;
    }
    if (one->cmsg_level != SOL_SOCKET) continue;
    if (one->cmsg_type == SCM_TIMESTAMPNS) {
      timespec time{};
      std::memcpy(&time, CMSG_DATA(one), sizeof time);
      out.at = nanos(time);
    } else if (one->cmsg_type == SCM_TIMESTAMPING) {
      scm_timestamping times{};
      std::memcpy(&times, CMSG_DATA(one), sizeof times);
      out.left = nanos(times.ts[0]);
    } else if (one->cmsg_type == SO_RXQ_OVFL) {
      std::memcpy(&out.overflow, CMSG_DATA(one), sizeof out.overflow);
      out.has_overflow = true;
    }
  }
  return out;
}

msghdr message_of(iovec& part, std::span<std::byte> control) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  return message;
}

}  // namespace

Nanos realtime_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanos(now);
}

struct UdpRunner::RunState {
  Rank rank;
  Nanos begin = 0;
  bool blocked = false;  // the socket took no more
  int failed = 0;        // errno of a send that will not succeed
};

UdpRunner::UdpRunner(UdpSocket socket, const Secret& secret, std::uint32_t datagram_bytes)
    : socket_(std::move(socket)),
      secret_(secret),
      datagram_bytes_(datagram_bytes),
      out_(std::max<std::size_t>(datagram_bytes, kHeaderBytes)),
      in_(kReceiveBytes) {}

base::Result<std::unique_ptr<UdpRunner>> UdpRunner::open(const std::string& local_address,
                                                         const Secret& secret) {
  std::string numeric = local_address;
  if (numeric.empty()) {
    auto chosen = alm::io::choose_local_address("", "");
    if (!chosen) return chosen.error();
    numeric = chosen.value();
  }
  auto local = alm::io::make_address(numeric, 0);
  if (!local) return local.error();
  auto mtu = alm::io::interface_mtu(local.value());
  if (!mtu) return mtu.error();
  const std::uint32_t bytes =
      std::min(mtu.value(), kEthernetMtu) - alm::io::header_bytes(local.value().family());
  auto socket = UdpSocket::open({.local = local.value(),
                                 .datagram_bytes = bytes,
                                 .send_buffer_packets = kUnpacedPackets,
                                 .receive_buffer_bytes = kReceiveBufferBytes,
                                 .gso = false,
                                 .gro = false});
  if (!socket) return socket.error();
  const int on = 1;
  if (::setsockopt(socket.value().fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) {
    return base::io_error(fmt::format("the kernel does not stamp arrivals: SO_TIMESTAMPNS: {}",
                                      std::strerror(errno)));
  }
  const int fd = socket.value().fd();
  std::unique_ptr<UdpRunner> runner(new UdpRunner(std::move(socket).value(), secret, bytes));
  // Which packets are stamped is said with each.
  const int reported = SOF_TIMESTAMPING_SOFTWARE;
  runner->stamps_departures_ =
      ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &reported, sizeof reported) == 0;
  return runner;
}

base::Result<Log> UdpRunner::run(const Experiment& experiment, std::uint32_t self, Nanos begin) {
  if (auto status = check(experiment, static_cast<std::uint32_t>(peers_.size())); !status) {
    return status.error();
  }
  bool paced = true;
  for (const Flow& flow : experiment.flows) {
    paced = paced && (flow.from != self || flow.interval > 0);
    if (flow.from == self && flow.bytes > datagram_bytes_) {
      return base::bad_input(fmt::format("datagrams of {} bytes; the interface takes {}",
                                         flow.bytes, datagram_bytes_));
    }
  }
  allow_packets(socket_, datagram_bytes_, paced ? kPacedPackets : kUnpacedPackets);
  ::prctl(PR_SET_TIMERSLACK, 1);  // or the kernel wakes a sleeper 50 us late
  RunState state{.rank = Rank(experiment, self), .begin = begin};
  note_departures(state);  // what came since the experiment before takes room
  const Nanos end = begin + experiment.duration;
  for (;;) {
    const Nanos now = realtime_now();
    const bool received = receive(state);
    if (stamps_departures_) note_departures(state);
    // What came until then is in the socket, however late this process was called.
    if (now >= end && !received) break;
    const bool sent = now >= begin && now < end && send(experiment, state);
    if (state.failed != 0) {
      return base::io_error(
          fmt::format("rank {} cannot send to others: {}", self, std::strerror(state.failed)));
    }
    if (received || sent) continue;
    const Nanos due = state.rank.deadline();
    const Nanos wake = due == base::kNever ? end : std::min(end, begin + due);
    sleep(state.blocked ? end : std::max(wake, begin), state.blocked);
  }
  return std::move(state.rank.log());
}

bool UdpRunner::receive(RunState& state) {
  bool any = false;
  for (unsigned i = 0; i < kReceivesPerTurn; ++i) {
    alignas(cmsghdr) std::array<std::byte, kControlBytes> control;
    iovec part{in_.data(), in_.size()};
    msghdr message = message_of(part, control);
    const ssize_t bytes = ::recvmsg(socket_.fd(), &message, MSG_DONTWAIT);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      continue;  // an ICMP error of an earlier packet: reading it clears it
    }
    const Nanos seen = realtime_now();
    const Stamps stamps = stamps_of(message);
    if (stamps.has_overflow) {
      state.rank.log().overflow += stamps.overflow - overflow_seen_;
      overflow_seen_ = stamps.overflow;
    }
    const auto header = decode(std::span(in_.data(), static_cast<std::size_t>(bytes)), secret_);
    if (!header) continue;
    const Nanos at = stamps.at > 0 ? stamps.at : seen;
    state.rank.received(*header, at - state.begin, seen - state.begin);
    any = true;
  }
  return any;
}

// The kernel gives back what it stamped, with the headers it went out with before it. Where hosts
// and switches share a kernel, as in the lab, each device on the way stamps a packet: the first is
// its host's. All are read, because what stays in the queue keeps poll() from waiting and takes the
// room of packets that come.
void UdpRunner::note_departures(RunState& state) {
  for (;;) {
    alignas(cmsghdr) std::array<std::byte, kControlBytes> control;
    iovec part{in_.data(), in_.size()};
    msghdr message = message_of(part, control);
    const ssize_t bytes = ::recvmsg(socket_.fd(), &message, MSG_DONTWAIT | MSG_ERRQUEUE);
    if (bytes < 0) return;
    const Stamps stamps = stamps_of(message);
    if (stamps.is_error || stamps.left == 0 || bytes < kHeaderBytes) continue;
    const auto header =
        decode(std::span(in_.data(), static_cast<std::size_t>(bytes)).last(kHeaderBytes), secret_);
    if (header) state.rank.left(*header, stamps.left - state.begin);
  }
}

// As sendto() returns; the kernel is to say when it left the host.
std::int64_t UdpRunner::give_stamped(const Outgoing& outgoing) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint32_t))> control{};
  iovec part{out_.data(), outgoing.bytes};
  msghdr message = message_of(part, control);
  const Address& to = peers_[outgoing.to];
  message.msg_name = const_cast<sockaddr*>(to.get());
  message.msg_namelen = to.length;
  cmsghdr* asked = CMSG_FIRSTHDR(&message);
  asked->cmsg_level = SOL_SOCKET;
  asked->cmsg_type = SO_TIMESTAMPING;
  asked->cmsg_len = CMSG_LEN(sizeof(std::uint32_t));
  const std::uint32_t when = SOF_TIMESTAMPING_TX_SOFTWARE;
  std::memcpy(CMSG_DATA(asked), &when, sizeof when);
  return ::sendmsg(socket_.fd(), &message, MSG_DONTWAIT);
}

// One packet at a time: what has come meanwhile is looked at between two.
bool UdpRunner::send(const Experiment& experiment, RunState& state) {
  const auto outgoing = state.rank.next(realtime_now() - state.begin);
  state.blocked = false;
  if (!outgoing) return false;
  Header header = outgoing->header;
  const Nanos at = realtime_now();
  if (!header.answer) header.sent = at - state.begin;
  encode(header, secret_, std::span<std::byte, kHeaderBytes>(out_.data(), kHeaderBytes));
  const Address& to = peers_[outgoing->to];
  const bool stamped = stamps_departures_ && experiment.flows[outgoing->header.flow].stamped;
  const std::int64_t taken = stamped ? give_stamped(*outgoing)
                                     : ::sendto(socket_.fd(), out_.data(), outgoing->bytes,
                                                MSG_DONTWAIT, to.get(), to.length);
  const Nanos until = realtime_now();
  if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) {
    state.blocked = true;
    return false;
  }
  if (taken >= 0) {
    state.rank.sent(at - state.begin, until - state.begin);
  } else if (errno != EINTR && errno != ECONNREFUSED) {  // of an earlier packet
    state.failed = errno;
  }
  return true;
}

void UdpRunner::sleep(Nanos until, bool for_writing) const {
  const Nanos left = until - realtime_now();
  if (left <= 0) return;
  if (!for_writing && left < kSpin) return;
  // Where a queueing discipline refuses packets, nothing tells when it has room again.
  const Nanos nap = for_writing ? std::min(left, base::kMillisecond) : left - kSpin / 2;
  const timespec timeout{nap / base::kSecond, nap % base::kSecond};
  pollfd ready{socket_.fd(), static_cast<short>(for_writing ? POLLIN | POLLOUT : POLLIN), 0};
  ::ppoll(&ready, 1, &timeout, nullptr);
}

}  // namespace alm::probe::io
