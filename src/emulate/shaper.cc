#include "emulate/shaper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace alm::emulate {
namespace {

// A full frame takes two minutes.
constexpr std::uint64_t kStoppedBytePerS = 12;
// As in lab/boot_plan.py: what the link carries in the time by which a timer may be late.
constexpr double kTimerSlackUs = 200;
constexpr std::uint32_t kRootHandle = 0x00010000;  // 1:
// To nobody, from nobody, of a kind that is free for local use (IEEE 802).
constexpr std::array<std::uint8_t, ETH_HLEN> kEmptyFrame{2, 0, 0, 0, 0, 0,    2,
                                                         0, 0, 0, 0, 0, 0x88, 0xb5};

class Message {
 public:
  Message() { bytes_.reserve(256); }

  template <class T>
  void add(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::size_t begin(std::uint16_t type) {
    const std::size_t at = bytes_.size();
    add(rtattr{0, type});
    return at;
  }
  void end(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(&bytes_[at], &length, sizeof length);
  }
  template <class T>
  void attribute(std::uint16_t type, const T& value) {
    const std::size_t at = begin(type);
    add(value);
    end(at);
  }
  std::vector<std::byte> take() {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof length);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> change_message(const Shaped& host, int device, bool go) {
  Message out;
  nlmsghdr header{};
  header.nlmsg_type = RTM_NEWQDISC;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  out.add(header);
  tcmsg about{};
  about.tcm_ifindex = device;
  about.tcm_parent = TC_H_ROOT;
  about.tcm_handle = kRootHandle;
  out.add(about);
  const std::size_t kind = out.begin(TCA_KIND);
  out.add(std::array<char, 4>{'t', 'b', 'f', '\0'});
  out.end(kind);
  if (host.overhead_bytes != 0) {  // a change without it would take it away
    tc_sizespec size{};
    size.overhead = host.overhead_bytes;
    size.linklayer = TC_LINKLAYER_ETHERNET;
    const std::size_t table = out.begin(TCA_STAB);
    out.attribute(TCA_STAB_BASE, size);
    out.end(table);
  }
  constexpr double kBytesPerMbit = 1e6 / 8;
  tc_tbf_qopt options{};
  options.rate.linklayer = TC_LINKLAYER_ETHERNET;
  options.rate.rate = static_cast<std::uint32_t>(go ? std::llround(host.rate_mbit_s * kBytesPerMbit)
                                                    : static_cast<long long>(kStoppedBytePerS));
  options.limit = host.queue_packets;  // the kernel passes it on to the queue that counts packets
  const auto slack = static_cast<std::uint32_t>(host.rate_mbit_s * kTimerSlackUs / 8);
  const std::uint32_t burst = host.frame_bytes + (go ? slack : 0);
  const std::size_t all = out.begin(TCA_OPTIONS);
  out.attribute(TCA_TBF_PARMS, options);
  out.attribute(TCA_TBF_BURST, burst);
  out.end(all);
  return out.take();
}

base::Error failed(const Shaped& host, const char* what) {
  return base::io_error(fmt::format("{} of process {}: {}: {}", host.device, host.process, what,
                                    std::strerror(errno)));
}

}  // namespace

base::Result<std::unique_ptr<Shaper>> Shaper::open(const std::vector<Shaped>& hosts) {
  std::unique_ptr<Shaper> out(new Shaper);
  const int home = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0) return base::io_error("the own network namespace cannot be opened");
  base::Status status;
  for (const Shaped& host : hosts) {
    const std::string path = fmt::format("/proc/{}/ns/net", host.process);
    const int there = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) {
      status = failed(host, "its network namespace cannot be entered");
      if (there >= 0) ::close(there);
      break;
    }
    ::close(there);
    Port port;
    port.made = host;
    port.netlink = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    port.waker = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    port.device = static_cast<int>(::if_nametoindex(host.device.c_str()));
    out->ports_.push_back(port);
    if (port.netlink < 0 || port.waker < 0 || port.device == 0) {
      status = failed(host, "it cannot be shaped");
      break;
    }
    out->ports_.back().stop = change_message(host, port.device, false);
    out->ports_.back().go = change_message(host, port.device, true);
  }
  if (::setns(home, CLONE_NEWNET) != 0 && status.ok()) {
    status = base::io_error("there is no way back to the own network namespace");
  }
  ::close(home);
  if (!status) return status.error();
  return out;
}

Shaper::~Shaper() {
  for (const Port& port : ports_) {
    for (const int socket : {port.netlink, port.waker}) {
      if (socket >= 0) ::close(socket);
    }
  }
}

void Shaper::set_rate(std::uint32_t number, double part) {
  Port& port = ports_[number];
  Shaped slower = port.made;
  slower.rate_mbit_s *= part;
  port.go = change_message(slower, port.device, true);
}

void Shaper::change(std::uint32_t number, bool go) {
  Port& port = ports_[number];
  const std::vector<std::byte>& message = go ? port.go : port.stop;
  std::array<std::byte, 4096> answer;
  if (::send(port.netlink, message.data(), message.size(), 0) < 0 ||
      ::recv(port.netlink, answer.data(), answer.size(), 0) <
          static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
    ++refused_;
    return;
  }
  nlmsgerr error{};
  std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof error);
  if (error.error != 0) ++refused_;
  if (go) wake(port);
}

void Shaper::wake(Port& port) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = port.device;
  const ssize_t sent = ::sendto(port.waker, kEmptyFrame.data(), kEmptyFrame.size(), MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (sent < 0 && errno == ENOBUFS) ++port.wakes_dropped;
}

}  // namespace alm::emulate
