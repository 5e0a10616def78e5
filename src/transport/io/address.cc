#include "transport/io/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text_file.h"

namespace alm::io {
namespace {

using base::Result;

struct Fd {
  int fd = -1;
  explicit Fd(int value) : fd(value) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
};

struct InterfaceAddress {
  std::string name;
  Address address;
  bool loopback = false;
};

Result<Address> from_sockaddr(const sockaddr* source) {
  Address address;
  if (source->sa_family == AF_INET) {
    address.length = sizeof(sockaddr_in);
  } else if (source->sa_family == AF_INET6) {
    address.length = sizeof(sockaddr_in6);
  } else {
    return base::bad_input("neither an IPv4 nor an IPv6 address");
  }
  std::memcpy(&address.storage, source, address.length);
  return address;
}

Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) {
    return base::io_error(
        fmt::format("cannot list the network interfaces: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<InterfaceAddress> result;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    auto address = from_sockaddr(entry->ifa_addr);
    if (!address) continue;
    result.push_back({entry->ifa_name, address.value(), (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return result;
}

bool is_link_local(const Address& address) {
  if (address.family() != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr);
}

Result<Address> resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &raw); code != 0) {
    return base::bad_input(fmt::format("cannot resolve host '{}': {}", name, ::gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(raw, &::freeaddrinfo);
  // A host's own name often resolves to 127.0.1.1 first; prefer what other hosts could reach.
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    auto address = from_sockaddr(entry->ai_addr);
    if (address && !is_loopback(address.value())) return address;
  }
  return from_sockaddr(list->ai_addr);
}

// connect() on a datagram socket sends nothing: it asks the routing table for a source address.
Result<Address> source_of_route(const Address& peer) {
  Address target = peer;
  auto port = htons(9);
  if (target.family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&target.storage)->sin_port = port;
  } else {
    reinterpret_cast<sockaddr_in6*>(&target.storage)->sin6_port = port;
  }
  const Fd probe(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Address local;
  local.length = sizeof(local.storage);
  if (probe.fd < 0 || ::connect(probe.fd, target.get(), target.length) != 0 ||
      ::getsockname(probe.fd, reinterpret_cast<sockaddr*>(&local.storage), &local.length) != 0) {
    return base::io_error(
        fmt::format("no route to {}: {}", to_numeric_string(peer), std::strerror(errno)));
  }
  return local;
}

Result<std::string> address_of_interface(const std::string& interface, int family) {
  auto list = interface_addresses();
  if (!list) return list.error();
  std::string known;
  const Address* best = nullptr;
  bool seen = false;
  for (const auto& entry : list.value()) {
    if (known.find(entry.name) == std::string::npos) {
      known += (known.empty() ? "" : ", ") + entry.name;
    }
    if (entry.name != interface) continue;
    seen = true;
    if (family != AF_UNSPEC && entry.address.family() != family) continue;
    if (entry.loopback || is_loopback(entry.address) || is_link_local(entry.address)) continue;
    // IPv4 before IPv6 when the peer does not decide.
    if (best == nullptr || (best->family() != AF_INET && entry.address.family() == AF_INET)) {
      best = &entry.address;
    }
  }
  if (best != nullptr) return to_numeric_string(*best);
  if (!seen) {
    return base::bad_input(
        fmt::format("interface '{}' does not exist or is down; up are: {}", interface, known));
  }
  return base::bad_input(fmt::format("interface '{}' has no {} address that another host can reach",
                                     interface,
                                     family == AF_INET    ? "IPv4"
                                     : family == AF_INET6 ? "IPv6"
                                                          : "IPv4 or IPv6"));
}

Result<std::string> default_address() {
  // 192.0.2.1 and 2001:db8::1 are documentation addresses (RFC 5737, 3849): only the default route
  // leads there.
  for (const char* outside : {"192.0.2.1", "2001:db8::1"}) {
    auto peer = make_address(outside, 9);
    if (!peer) return peer.error();
    auto source = source_of_route(peer.value());
    if (source && !is_loopback(source.value())) return to_numeric_string(source.value());
  }
  auto list = interface_addresses();
  if (!list) return list.error();
  for (const int family : {AF_INET, AF_INET6}) {
    for (const auto& entry : list.value()) {
      if (entry.address.family() == family && !entry.loopback && !is_link_local(entry.address)) {
        return to_numeric_string(entry.address);
      }
    }
  }
  return base::io_error(
      "no network interface but loopback is up; name one with ALLEMANDE_INTERFACE");
}

}  // namespace

bool operator==(const Address& a, const Address& b) {
  return a.length == b.length && std::memcmp(&a.storage, &b.storage, a.length) == 0;
}

Result<Address> make_address(const std::string& numeric, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  if (::getaddrinfo(numeric.c_str(), std::to_string(port).c_str(), &hints, &raw) != 0) {
    return base::bad_input(fmt::format("'{}' is not a numeric IPv4 or IPv6 address", numeric));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(raw, &::freeaddrinfo);
  return from_sockaddr(list->ai_addr);
}

std::string to_numeric_string(const Address& address) {
  char host[NI_MAXHOST] = "";
  if (::getnameinfo(address.get(), address.length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) !=
      0) {
    return "(no address)";
  }
  return host;
}

std::uint16_t port_of(const Address& address) {
  if (address.family() == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
}

std::string to_string(const Address& address) {
  const std::string host = to_numeric_string(address);
  if (address.family() == AF_INET6) return fmt::format("[{}]:{}", host, port_of(address));
  return fmt::format("{}:{}", host, port_of(address));
}

bool is_loopback(const Address& address) {
  if (address.family() == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
  }
  if (address.family() == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(
        &reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr);
  }
  return false;
}

Result<std::string> choose_local_address(const std::string& interface, const std::string& peer) {
  if (peer.empty())
    return interface.empty() ? default_address() : address_of_interface(interface, AF_UNSPEC);
  auto target = make_address(peer, 9);
  const bool numeric = target.ok();
  if (!numeric) target = resolve(peer);
  if (!target) return target.error();
  if (!interface.empty()) return address_of_interface(interface, target.value().family());
  auto source = source_of_route(target.value());
  if (!source) return source.error();
  if (is_loopback(source.value()) && !(numeric && is_loopback(target.value()))) {
    return base::bad_input(
        fmt::format("'{}' resolves to {}, which only this host can reach; name the interface with "
                    "ALLEMANDE_INTERFACE",
                    peer, to_numeric_string(target.value())));
  }
  return to_numeric_string(source.value());
}

Result<std::uint32_t> interface_mtu(const Address& local) {
  auto list = interface_addresses();
  if (!list) return list.error();
  const std::string wanted = to_numeric_string(local);
  for (const auto& entry : list.value()) {
    // 127.0.0.0/8 belongs to the loopback interface as a whole.
    const bool both_loopback = entry.loopback && is_loopback(local);
    if (!both_loopback && to_numeric_string(entry.address) != wanted) continue;
    const Fd query(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, entry.name.c_str(), IFNAMSIZ - 1);
    if (query.fd < 0 || ::ioctl(query.fd, SIOCGIFMTU, &request) != 0) {
      return base::io_error(
          fmt::format("cannot read the MTU of {}: {}", entry.name, std::strerror(errno)));
    }
    return static_cast<std::uint32_t>(request.ifr_mtu);
  }
  return base::bad_input(fmt::format("no interface that is up has the address {}", wanted));
}

double interface_speed(const Address& local, const std::string& interfaces) {
  constexpr std::size_t kNumberBytesMax = 64;
  const auto list = interface_addresses();
  if (!list) return 0;
  const std::string wanted = to_numeric_string(local);
  for (const auto& entry : list.value()) {
    if (to_numeric_string(entry.address) != wanted) continue;
    const std::string folder = interfaces + "/" + entry.name;
    const auto has = [&](const char* what) { return ::access((folder + what).c_str(), F_OK) == 0; };
    if (!has("/device") && !has("/bonding")) return 0;
    const auto text = base::read_text(folder + "/speed", kNumberBytesMax, "a speed in Mbit/s");
    return text ? std::max(0.0, std::strtod(text.value().c_str(), nullptr)) : 0;
  }
  return 0;
}

}  // namespace alm::io
