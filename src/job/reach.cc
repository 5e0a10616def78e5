#include "job/reach.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "job/agreement.h"
#include "job/networks.h"
#include "job/safe_collectives.h"
#include "transport/io/address.h"
#include "transport/io/endpoint.h"
#include "transport/io/udp_socket.h"

namespace alm::job {
namespace {

constexpr base::Nanos kAgain = 20 * base::kMillisecond;  // a hello that was not answered
constexpr std::uint64_t kComplete = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kWordBits = 32;
constexpr std::uint64_t kWord = 0xffff'ffff;

// Where a host listens. It travels by MPI_Allgather.
struct Listener {
  std::uint64_t word = 0;  // what a hello to it has to hold: nobody else knows it
  std::array<InterfaceAddress, kNetworksMax> addresses{};
  std::array<std::uint16_t, kNetworksMax> ports{};  // 0: none
};

// Between processes of one job, all of one architecture.
struct Hello {
  std::uint64_t word = 0;  // of the receiver
  std::uint32_t from = 0;  // host
  std::uint16_t network = 0;
  std::uint16_t answers = 0;
};

InterfaceAddress bytes_of(const io::Address& address) {
  InterfaceAddress out;
  out.family = static_cast<std::uint8_t>(address.family());
  if (address.family() == AF_INET) {
    const auto* ip = reinterpret_cast<const sockaddr_in*>(&address.storage);
    std::memcpy(out.bytes.data(), &ip->sin_addr, sizeof ip->sin_addr);
  } else {
    const auto* ip = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    std::memcpy(out.bytes.data(), &ip->sin6_addr, sizeof ip->sin6_addr);
  }
  return out;
}

// The hellos of one host.
class Greeter {
 public:
  Greeter(std::span<const std::string> addresses, std::uint64_t word)
      : networks_(addresses.size()) {
    mine_.word = word;
    for (std::size_t network = 0; network < addresses.size(); ++network) {
      auto local = io::make_address(addresses[network], 0);
      auto socket = local
                        ? io::UdpSocket::open({.local = local.value(), .gso = false, .gro = false})
                        : base::Result<io::UdpSocket>(local.error());
      if (!socket) continue;
      mine_.addresses[network] = bytes_of(socket.value().local());
      mine_.ports[network] = io::port_of(socket.value().local());
      sockets_.emplace_back(network, std::move(socket).value());
    }
  }

  const Listener& mine() const { return mine_; }

  void meet(std::vector<Listener> hosts, std::uint32_t self) {
    hosts_ = std::move(hosts);
    self_ = self;
    const auto count = static_cast<std::uint32_t>(hosts_.size());
    for (std::uint32_t places = 1; places < count; places *= 2) {
      to_.push_back((self + places) % count);
      from_.push_back((self + count - places) % count);
    }
    heard_.assign(networks_, std::vector<bool>(count));
    answered_ = heard_;
  }

  // Until everything has been heard and answered on the networks from `first` up to `last`.
  void greet(std::size_t first, std::size_t last, base::Nanos patience) {
    const base::Nanos end = io::monotonic_now() + patience;
    base::Nanos again = 0;
    while (!done(first, last)) {
      const base::Nanos now = io::monotonic_now();
      if (now >= end) return;
      if (now >= again) {
        say();
        again = now + kAgain;
      }
      await(std::min(again, end) - now);
    }
  }

  // kComplete, or this host and one that it has not heard.
  std::uint64_t outcome(std::size_t network) const {
    for (const std::uint32_t from : from_) {
      if (!heard_[network][from]) return std::uint64_t{self_} << kWordBits | from;
    }
    return kComplete;
  }

 private:
  bool done(std::size_t first, std::size_t last) const {
    for (std::size_t network = first; network < last; ++network) {
      const auto has = [](const std::vector<bool>& from) {
        return [&from](std::uint32_t host) { return from[host]; };
      };
      if (!std::all_of(from_.begin(), from_.end(), has(heard_[network]))) return false;
      if (!std::all_of(to_.begin(), to_.end(), has(answered_[network]))) return false;
    }
    return true;
  }

  void say() const {
    for (const auto& [network, socket] : sockets_) {
      for (const std::uint32_t to : to_) {
        if (!answered_[network][to]) send(socket, network, to, false);
      }
    }
  }

  // What cannot be sent is not heard of.
  void send(const io::UdpSocket& socket, std::size_t network, std::uint32_t to,
            bool answers) const {
    const Listener& there = hosts_[to];
    if (there.ports[network] == 0) return;
    const auto address =
        io::make_address(to_string(there.addresses[network]), there.ports[network]);
    if (!address) return;
    const Hello hello{there.word, self_, static_cast<std::uint16_t>(network),
                      static_cast<std::uint16_t>(answers ? 1 : 0)};
    (void)::sendto(socket.fd(), &hello, sizeof hello, 0, address.value().get(),
                   address.value().length);
  }

  void await(base::Nanos time) {
    std::vector<pollfd> ready;
    for (const auto& [network, socket] : sockets_) ready.push_back({socket.fd(), POLLIN, 0});
    const timespec limit{time / base::kSecond, time % base::kSecond};
    if (::ppoll(ready.data(), ready.size(), &limit, nullptr) <= 0) return;
    for (const auto& [network, socket] : sockets_) receive(socket, network);
  }

  void receive(const io::UdpSocket& socket, std::size_t network) {
    Hello hello;
    for (;;) {
      const ssize_t bytes = ::recv(socket.fd(), &hello, sizeof hello, MSG_DONTWAIT | MSG_TRUNC);
      if (bytes < 0) {
        // What a router has said of an earlier hello is taken from the socket by asking for it.
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
        return;
      }
      if (bytes != sizeof hello || hello.word != mine_.word || hello.network != network ||
          hello.from >= hosts_.size()) {
        continue;
      }
      if (hello.answers != 0) {
        answered_[network][hello.from] = true;
      } else {
        heard_[network][hello.from] = true;
        send(socket, network, hello.from, true);
      }
    }
  }

  std::size_t networks_;
  Listener mine_;
  std::vector<std::pair<std::size_t, io::UdpSocket>> sockets_;  // with their networks
  std::vector<Listener> hosts_;
  std::uint32_t self_ = 0;                           // host
  std::vector<std::uint32_t> to_, from_;             // hosts
  std::vector<std::vector<bool>> heard_, answered_;  // [network][host]
};

}  // namespace

base::Result<Reach> find_reach(Bootstrap& bootstrap, CommHandle comm,
                               std::span<const JobRecord> records, std::uint32_t self,
                               std::span<const std::string> addresses,
                               const RandomBytes& random_bytes, base::Nanos patience) {
  SafeCollectives collectives(bootstrap, comm);
  const std::vector<std::uint32_t> firsts = first_ranks(records);
  const auto host =
      static_cast<std::uint32_t>(std::find(firsts.begin(), firsts.end(), self) - firsts.begin());
  const bool greets = host < firsts.size();
  // Without a word of its own a rank listens to nobody, and the networks do not carry.
  const auto key = random_key(random_bytes);
  const std::size_t networks = addresses.size();
  Greeter greeter(greets && key ? addresses : std::span<const std::string>(),
                  key ? key.value()[0] : 0);
  std::vector<Listener> all(records.size());
  if (const auto gathered = collectives.gather(greeter.mine(), all); !gathered) {
    return gathered.error();
  }
  std::vector<Listener> listeners;
  for (const std::uint32_t first : firsts) listeners.push_back(all[first]);
  const bool listens = greets && key.ok();
  if (listens) greeter.meet(std::move(listeners), host);

  Reach reach;
  std::vector<std::uint64_t> outcomes(networks, kComplete);
  const auto settle = [&](std::size_t first, std::size_t last) -> base::Status {
    if (listens) greeter.greet(first, last, patience);
    for (std::size_t network = first; network < last && greets; ++network) {
      outcomes[network] =
          listens ? greeter.outcome(network) : std::uint64_t{host} << kWordBits | host;
    }
    return collectives.least(std::span(outcomes).subspan(first, last - first));
  };
  if (networks == 0) return reach;
  if (const auto done = settle(0, 1); !done) return done.error();
  if (outcomes.front() != kComplete && networks > 1) {
    if (const auto done = settle(1, networks); !done) return done.error();
  }
  const auto carrying = std::find(outcomes.begin(), outcomes.end(), kComplete);
  reach.carries = carrying != outcomes.end();
  if (reach.carries) reach.network = static_cast<std::size_t>(carrying - outcomes.begin());
  for (auto gap = outcomes.begin(); gap != carrying; ++gap) {
    const auto named = [&](std::uint64_t which) {
      return std::string(host_of(records[firsts[which]].host));
    };
    reach.gaps.push_back({named(*gap & kWord), named(*gap >> kWordBits)});
  }
  return reach;
}

}  // namespace alm::job
