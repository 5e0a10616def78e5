#include "transport/io/endpoint.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <ctime>
#include <span>
#include <vector>

#include "clocks/pacer.h"
#include "transport/io/receiver.h"
#include "transport/io/sender.h"
#include "transport/io/udp_socket.h"

namespace alm::io {
namespace {

// What the send buffer and the pacer's burst must bridge: a sleeper is called at half of either,
// and takes 100 to 300 us to come back on a busy machine.
constexpr base::Nanos kSendBufferTime = base::kMillisecond;
constexpr std::uint32_t kSendBufferPacketsMin = 6;
constexpr base::Nanos kPaceBurstTime = 400 * base::kMicrosecond;
constexpr std::uint32_t kPaceBurstPacketsMin = 4;
constexpr std::uint32_t kPaceBurstPacketsMax = 32;  // of an exchange that needs no window
constexpr std::uint32_t kEthernetHeaderBytes = 14;
// How long one sight of packets held by the kernel counts; saves asking on every send.
constexpr base::Nanos kKernelHoldsFor = base::kMillisecond;
constexpr base::Nanos kNoBuffersPauseMin = 200 * base::kMicrosecond;
constexpr base::Nanos kNoBuffersPauseMax = 2 * base::kMillisecond;
constexpr std::uint32_t kBatchMax = Sender::kItemsPerCall;

std::uint32_t packets_in(base::Nanos time, double mbit_s, std::uint32_t frame_bytes) {
  return static_cast<std::uint32_t>(
      std::lround(mbit_s * static_cast<double>(time) / 8000.0 / frame_bytes));
}

// Empties the socket's error queue (IP_RECVERR); returns how many entries it held.
std::size_t drain_error_queue(int fd) {
  std::size_t entries = 0;
  std::array<std::byte, 512> control;
  std::array<std::byte, 64> payload;
  for (; entries < 256; ++entries) {
    iovec part{payload.data(), payload.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
  }
  return entries;
}

}  // namespace

struct Endpoint::Impl {
  enum class Blocked { kNo, kKernel, kPaced, kPause };

  EndpointOptions options;
  // Has room for all of them from the start: who waits at some meets none that moves. `opened` is
  // read by other threads.
  std::vector<UdpSocket> sockets;
  std::atomic<std::uint32_t> opened = 0;
  std::uint32_t listening = 0;  // the first so many are read
  std::vector<Address> locals;  // the sockets have these addresses in turn
  UdpSocketOptions socket_options;
  std::vector<std::uint32_t> overflow_seen;
  std::vector<std::string> warnings;
  std::uint32_t datagram_bytes = 0;
  std::uint32_t frame_overhead = 0;
  std::uint32_t send_buffer_packets = 0;
  Sender sender;
  Receiver receiver;
  clocks::Pacer pacer;
  clocks::RateClaim rate;
  std::uint32_t pace_burst_bytes = 0;
  EndpointCounters counters;

  Blocked blocked = Blocked::kNo;
  int last_fd = -1;
  base::Nanos kernel_holds_until = 0;
  base::Nanos pause_until = 0;
  base::Nanos pause = kNoBuffersPauseMin;

  base::Status open_sockets(std::vector<Address> addresses);
  base::Status open_up_to(std::uint32_t count);
  // Segments of one UDP_SEGMENT send: the grain is what queues on the way are known to hold.
  std::size_t train_packets(const UdpSocket& socket) const {
    return socket.gso() ? options.grain_packets : 1;
  }
  bool kernel_holds(base::Nanos now);
  void pace_as_seen();
  void lengthen_trains();
  std::uint32_t ready_sockets() const;  // bit s: something waits at socket s
  std::size_t room_items(base::Nanos now, std::span<const SendItem> items);
};

base::Nanos monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * base::kSecond + now.tv_nsec;
}

Endpoint::Endpoint() : impl_(std::make_unique<Impl>()) {}
Endpoint::~Endpoint() = default;

base::Result<std::unique_ptr<Endpoint>> Endpoint::open(const EndpointOptions& options) {
  if (options.paths == 0 || options.paths > kSocketsMax) {
    return base::bad_input(
        fmt::format("{} sockets; 1 to {} are possible", options.paths, kSocketsMax));
  }
  std::string numeric = options.local_address;
  if (numeric.empty()) {
    auto chosen = choose_local_address("", "");
    if (!chosen) return chosen.error();
    numeric = chosen.value();
  }
  std::vector<Address> locals;
  std::vector<std::string> all = options.further_addresses;
  all.insert(all.begin(), numeric);
  for (const std::string& address : all) {
    auto local = make_address(address, 0);
    if (!local) return local.error();
    locals.push_back(std::move(local).value());
  }

  std::unique_ptr<Endpoint> endpoint(new Endpoint);
  endpoint->impl_->options = options;
  if (auto status = endpoint->impl_->open_sockets(std::move(locals)); !status)
    return status.error();
  return endpoint;
}

base::Status Endpoint::Impl::open_sockets(std::vector<Address> addresses) {
  locals = std::move(addresses);
  std::uint32_t mtu = options.mtu_bytes;
  if (mtu == 0) {
    mtu = kMtuBytesDefaultMax;
    for (const Address& local : locals) {
      auto found = interface_mtu(local);
      if (!found) return found.error();
      mtu = std::min(found.value(), mtu);
    }
  }
  const std::uint32_t headers = header_bytes(locals.front().family());
  if (mtu < headers + 256 || mtu > 65'535) {
    return base::bad_input(
        fmt::format("MTU {} bytes; {} to 65535 are possible", mtu, headers + 256));
  }
  datagram_bytes = mtu - headers;
  frame_overhead = headers + kEthernetHeaderBytes;

  const std::uint32_t frame = datagram_bytes + frame_overhead;
  const std::uint32_t grain = std::max(1u, options.grain_packets);
  send_buffer_packets = options.send_buffer_packets;
  if (send_buffer_packets == 0) {
    send_buffer_packets = std::max({kSendBufferPacketsMin, 2 * grain,
                                    packets_in(kSendBufferTime, options.pace_mbit_s, frame)});
  }
  const std::uint32_t burst =
      std::max({kPaceBurstPacketsMin, std::min(options.burst_packets, kPaceBurstPacketsMax),
                2 * grain, packets_in(kPaceBurstTime, options.pace_mbit_s, frame)});
  pace_burst_bytes = burst * frame;
  double told_mbit_s = 0;
  for (const Address& local : locals) told_mbit_s += interface_speed(local);
  rate = clocks::RateClaim(options.pace_mbit_s, told_mbit_s, options.host_mbit_s);
  if (!options.pace_when_seen) pacer = clocks::Pacer(options.pace_mbit_s, pace_burst_bytes);
  pace_as_seen();

  socket_options = {.local = locals.front(),
                    .datagram_bytes = datagram_bytes,
                    .send_buffer_packets = send_buffer_packets,
                    .receive_buffer_bytes = options.receive_buffer_bytes,
                    .receive_packets_min = options.receive_packets_min,
                    .gso = options.allow_gso,
                    .gro = options.allow_gro};
  sockets.reserve(kSocketsMax);
  overflow_seen.assign(kSocketsMax, 0);
  if (auto status = open_up_to(options.paths); !status) return status;
  listening = options.paths;
  warnings = sockets.front().warnings();
  last_fd = sockets.front().fd();
  return {};
}

base::Status Endpoint::Impl::open_up_to(std::uint32_t count) {
  while (opened < count) {
    socket_options.local = locals[opened % locals.size()];
    auto socket = UdpSocket::open(socket_options);
    if (!socket) return socket.error();
    sockets.push_back(std::move(socket).value());
    ++opened;
  }
  return {};
}

base::Status Endpoint::open_more(std::uint32_t count) {
  assert(count <= kSocketsMax);
  return impl_->open_up_to(count);
}

void Endpoint::listen(std::uint32_t count) {
  impl_->listening = std::clamp(count, 1u, impl_->opened.load());
}

std::uint32_t Endpoint::listening() const { return impl_->listening; }

Address Endpoint::local(std::uint32_t path) const {
  assert(path < impl_->opened);
  return impl_->sockets[path].local();
}
std::uint32_t Endpoint::paths() const { return impl_->opened; }
std::uint32_t Endpoint::datagram_bytes() const { return impl_->datagram_bytes; }
std::vector<std::string> Endpoint::warnings() const { return impl_->warnings; }
const EndpointCounters& Endpoint::counters() const { return impl_->counters; }

std::uint32_t Endpoint::receive_buffer_bytes() const {
  std::uint32_t bytes = impl_->sockets[0].receive_buffer_bytes();
  for (std::uint32_t i = 1, count = impl_->opened; i < count; ++i) {
    bytes = std::min(bytes, impl_->sockets[i].receive_buffer_bytes());
  }
  return bytes;
}

std::uint32_t packets_that_fit(std::uint32_t buffer_bytes, std::uint32_t datagram_bytes) {
  return buffer_bytes / kernel_bytes_per_packet(datagram_bytes);
}

void Endpoint::Impl::lengthen_trains() {
  options.grain_packets = std::max(options.grain_packets, options.refuted_grain_packets);
}

void Endpoint::Impl::pace_as_seen() {
  if (!options.pace_when_seen || !options.paces) return;
  const bool seen = rate.verdict() == clocks::RateClaim::Verdict::kSeen && !rate.refuted();
  pacer = clocks::Pacer(seen ? rate.mbit_s() : 0, pace_burst_bytes);
}

void Endpoint::exchanged(std::uint64_t came, std::uint64_t waited, base::Nanos time) {
  const auto before = impl_->rate.verdict();
  const double paced_by = impl_->rate.mbit_s();
  const auto in_frames = [this](std::uint64_t bytes) {
    return bytes * (impl_->datagram_bytes + impl_->frame_overhead) /
           (impl_->datagram_bytes - wire::kHeaderBytes);
  };
  // The exchange is over before the send buffer is empty.
  const std::uint64_t buffers = impl_->send_buffer_packets * impl_->opened;
  waited -= std::min(waited, buffers * impl_->datagram_bytes);
  impl_->rate.exchanged(in_frames(came), in_frames(waited), time);
  if (impl_->rate.refuted()) impl_->lengthen_trains();
  if (impl_->rate.verdict() != before || impl_->rate.mbit_s() != paced_by) impl_->pace_as_seen();
}

void Endpoint::refute_rate() {
  impl_->rate.refute();
  impl_->lengthen_trains();
  impl_->pace_as_seen();
}

const clocks::RateClaim& Endpoint::rate() const { return impl_->rate; }

// Packets that sit in a queueing discipline (or a real NIC's ring) are still charged to the socket.
// Where they are not (virtio, veth without a shaper), nothing but the pacer keeps us at the link's
// rate.
bool Endpoint::Impl::kernel_holds(base::Nanos now) {
  if (now < kernel_holds_until) return true;
  int bytes = 0;
  if (::ioctl(last_fd, SIOCOUTQ, &bytes) == 0 && bytes > 0)
    kernel_holds_until = now + kKernelHoldsFor;
  return now < kernel_holds_until;
}

// How many of the items the pacer lets go now; all of them while the kernel does the holding back.
std::size_t Endpoint::Impl::room_items(base::Nanos now, std::span<const SendItem> items) {
  if (!pacer.enabled() || now < kernel_holds_until) return items.size();
  const std::uint64_t room = pacer.room_bytes(now);
  if (room == 0) return kernel_holds(now) ? items.size() : 0;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < items.size() && bytes < room) bytes += items[count++].bytes() + frame_overhead;
  return count;
}

std::size_t Endpoint::send(base::Nanos now, std::span<const SendItem> items) {
  Impl& self = *impl_;
  std::size_t taken = 0;
  self.blocked = Impl::Blocked::kNo;
  if (now < self.pause_until) {
    self.blocked = Impl::Blocked::kPause;
    return 0;
  }
  while (taken < items.size()) {
    auto batch = items.subspan(taken, std::min(Sender::kItemsPerCall, items.size() - taken));
    std::size_t count = 1;
    while (count < batch.size() && batch[count].path == batch[0].path) ++count;
    count = self.room_items(now, batch.first(count));
    if (count == 0) {
      ++self.counters.paced;
      self.blocked = Impl::Blocked::kPaced;
      break;
    }
    batch = batch.first(count);
    const UdpSocket& socket = self.sockets[batch[0].path % self.listening];
    self.last_fd = socket.fd();
    const SendResult result =
        self.sender.send(socket.fd(), self.train_packets(socket), batch, self.counters);
    if (result.taken > 0) self.pause = kNoBuffersPauseMin;
    if (self.pacer.enabled()) {
      std::uint64_t bytes = 0;
      for (const SendItem& item : batch.first(result.taken))
        bytes += item.bytes() + self.frame_overhead;
      self.pacer.sent(now, bytes);
    }
    taken += result.taken;
    if (result.stop == SendResult::Stop::kFull) {
      self.kernel_holds_until = now + kKernelHoldsFor;
      self.blocked = Impl::Blocked::kKernel;
      break;
    }
    if (result.stop == SendResult::Stop::kNoBuffers) {
      // Nothing tells when the queueing discipline has room again; POLLOUT would fire at once.
      self.pause_until = now + self.pause;
      self.pause = std::min(2 * self.pause, kNoBuffersPauseMax);
      self.blocked = Impl::Blocked::kPause;
      break;
    }
  }
  return taken;
}

// One look at all of them costs less than a vain attempt at each.
std::uint32_t Endpoint::Impl::ready_sockets() const {
  if (listening == 1) return 1;
  std::array<pollfd, kSocketsMax> fds;
  nfds_t count = 0;
  for (; count < listening; ++count) fds[count] = {sockets[count].fd(), POLLIN, 0};
  std::uint32_t ready = 0;
  if (::poll(fds.data(), count, 0) <= 0) return ready;
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].revents != 0) ready |= std::uint32_t{1} << i;
  }
  return ready;
}

bool Endpoint::send_blocked() const { return impl_->blocked != Impl::Blocked::kNo; }

std::uint32_t Endpoint::batch_packets() const {
  // Half of the send buffer is what POLLOUT announces. Without a kernel that blocks, a batch is
  // only there to save system calls. Whole trains in any case.
  const std::uint32_t grain = std::clamp(impl_->options.grain_packets, 1u, kBatchMax);
  const bool held = impl_->kernel_holds_until > 0 || impl_->pacer.enabled();
  const std::uint32_t packets =
      std::min(held ? impl_->send_buffer_packets / 2 : kBatchMax / 2, kBatchMax);
  return std::max(1u, packets / grain) * grain;
}

std::size_t Endpoint::receive(const Sink& sink) {
  std::size_t datagrams = 0;
  const std::uint32_t ready = impl_->ready_sockets();
  for (std::size_t path = 0; path < impl_->listening; ++path) {
    if ((ready >> path & 1) == 0) continue;
    datagrams += impl_->receiver.receive(impl_->sockets[path].fd(), impl_->overflow_seen[path],
                                         sink, impl_->counters);
  }
  return datagrams;
}

// The errno of an ICMP message may have been swallowed by a partly successful sendmmsg, its entry
// in the error queue stays; or the queue was full and only the errno is there. Either keeps POLLERR
// up.
void Endpoint::clear_errors() {
  for (const UdpSocket& socket : impl_->sockets) {
    impl_->counters.refused += drain_error_queue(socket.fd());
    int pending = 0;
    socklen_t length = sizeof pending;
    ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &pending, &length);  // reading clears it
  }
}

bool Endpoint::ask(const HopQuestion& question) {
  return send_to_hop(impl_->sockets.at(question.socket).fd(), question.to, question.hops);
}

std::vector<HopAnswer> Endpoint::read_answers() {
  std::vector<HopAnswer> answers;
  for (std::size_t i = 0; i < impl_->sockets.size(); ++i) {
    read_hops(impl_->sockets[i].fd(), static_cast<std::uint8_t>(i), answers);
  }
  return answers;
}

WaitPlan Endpoint::plan_wait(base::Nanos now, base::Nanos until, bool want_write, int wake_fd,
                             bool read) {
  ++impl_->counters.waits;
  WaitPlan plan{
      .timeout = 0, .sockets = impl_->listening, .read = read, .write_fd = -1, .wake_fd = wake_fd};
  if (want_write) {
    base::Nanos resume = base::kNever;
    switch (impl_->blocked) {
      case Impl::Blocked::kNo:
      case Impl::Blocked::kKernel:
        plan.write_fd = impl_->last_fd;
        break;
      case Impl::Blocked::kPaced:
        resume = impl_->pacer.allowed_at();
        break;
      case Impl::Blocked::kPause:
        resume = impl_->pause_until;
        break;
    }
    plan.write_timed = resume <= until;
    until = std::min(until, resume);
  }
  plan.timeout = until == base::kNever ? base::kNever : std::max<base::Nanos>(0, until - now);
  return plan;
}

Ready Endpoint::block(const WaitPlan& plan) const {
  std::array<pollfd, kSocketsMax + 1> fds;
  nfds_t count = 0;
  for (; count < plan.sockets; ++count) {
    const int fd = impl_->sockets[count].fd();
    short events = plan.read ? POLLIN : 0;
    if (fd == plan.write_fd) events |= POLLOUT;
    fds[count] = {fd, events, 0};
  }
  const nfds_t sockets = count;
  if (plan.wake_fd >= 0) fds[count++] = {plan.wake_fd, POLLIN, 0};
  const timespec timeout{plan.timeout / base::kSecond, plan.timeout % base::kSecond};
  const int ready =
      ::ppoll(fds.data(), count, plan.timeout == base::kNever ? nullptr : &timeout, nullptr);
  Ready result;
  result.writable = plan.write_timed && ready == 0;
  if (ready <= 0) return result;
  for (nfds_t i = 0; i < sockets; ++i) {
    result.readable |= (fds[i].revents & POLLIN) != 0;
    result.writable |= (fds[i].revents & POLLOUT) != 0;
    result.error |= (fds[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  }
  result.woken = count > sockets && fds[sockets].revents != 0;
  return result;
}

}  // namespace alm::io
