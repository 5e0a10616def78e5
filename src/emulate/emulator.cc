#include "emulate/emulator.h"

#include <fmt/core.h>
#include <net/if.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emulate/answer.h"
#include "emulate/frame.h"

namespace alm::emulate {
namespace {

constexpr Picos kMillisecond = sim::kPicosPerSecond / 1000;
constexpr Picos kPublishEvery = kMillisecond;
// Falling asleep and waking up cost a processor about as much as waiting so long (13 us on a
// virtual machine): it stays awake for it.
constexpr Picos kSleepLeast = 12 * sim::kPicosPerMicro;
// Frames that are due at almost the same time leave together: each may be early or late by this
// part of a full frame's time, or by this time where that is more.
constexpr Picos kToleratedParts = 25;
constexpr Picos kToleratedLeast = 25 * sim::kPicosPerMicro;
// A host's own queue where a switch holds its packets back (lab/boot_plan.py).
constexpr std::uint32_t kHeldBackPackets = 1000;
// The ring holds what comes in this time.
constexpr Picos kLookSeldom = kMillisecond;
// By so much sleep is cut short at most, since it lasts too long on the average.
constexpr Picos kOversleptMost = 20 * sim::kPicosPerMicro;
constexpr Picos kOversleptWeight = 16;
// Only packets with a TTL below this are asked whether they come to its end.
constexpr std::uint32_t kTtlFew = 32;

constexpr std::int64_t kNanos = 1'000'000'000;

std::int64_t nanos(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kNanos + time.tv_nsec;
}

}  // namespace

Picos Emulator::Clock::now() const {
  return (nanos(CLOCK_MONOTONIC) - begin_ns) * sim::kPicosPerNano;
}

Picos Emulator::Clock::of_realtime(std::uint64_t ns) const {
  return (static_cast<std::int64_t>(ns) + offset_ns - begin_ns) * sim::kPicosPerNano;
}

timespec Emulator::Clock::when(Picos time) const {
  const std::int64_t ns = begin_ns + time / sim::kPicosPerNano;
  return {ns / kNanos, ns % kNanos};
}

void Emulator::Clock::adjust() { offset_ns = nanos(CLOCK_MONOTONIC) - nanos(CLOCK_REALTIME); }

base::Result<std::unique_ptr<Emulator>> Emulator::make(const Settings& settings) {
  std::unique_ptr<Emulator> out(new Emulator);
  auto cluster = topology::load_cluster(settings.cluster_file);
  if (!cluster) return cluster.error();
  out->interfaces_ = interfaces_of(cluster.value());
  out->cluster_ = split_hosts(cluster.value());
  out->link_header_bytes_ = static_cast<std::int32_t>(out->cluster_.framing.link_header_bytes);
  out->routers_ = settings.routers;
  const std::size_t count = out->interfaces_.size();
  out->hops_.assign(count * count, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    out->numbers_[{out->interfaces_[i].host, out->interfaces_[i].number}] = i;
  }
  if (auto found = out->find_devices(); !found) return found.error();

  auto network = Network::make(out->cluster_, settings.rule, settings.output_frames);
  if (!network) return network.error();
  out->network_ = std::move(network).value();
  out->tolerated_ = std::max(kToleratedLeast, out->network_->frame_time_min() / kToleratedParts);
  auto ring = FrameRing::open(out->cluster_.framing.mtu_bytes + kEthernetBytes);
  if (!ring) return ring.error();
  out->ring_ = std::move(ring).value();
  auto sender = FrameSender::open();
  if (!sender) return sender.error();
  out->sender_ = std::move(sender).value();
  if (auto opened = out->open_shaper(settings); !opened) return opened.error();
  auto counters =
      CountersFile::make(settings.directory + "/counters", out->network_->simulator().ports());
  if (!counters) return counters.error();
  out->counters_ = std::move(counters).value();
  auto control = ControlSocket::listen(settings.directory);
  if (!control) return control.error();
  out->control_ = std::move(control).value();
  out->clock_.begin_ns = nanos(CLOCK_MONOTONIC);
  return out;
}

base::Status Emulator::find_devices() {
  for (std::uint32_t i = 0; i < interfaces_.size(); ++i) {
    const std::string name = device_name(interfaces_[i]);
    const std::uint32_t device = ::if_nametoindex(name.c_str());
    if (device == 0) return base::io_error(fmt::format("there is no device {} here", name));
    device_.push_back(device);
    if (device >= of_device_.size()) of_device_.resize(device + 1, sim::kNone);
    of_device_[device] = i;
  }
  return {};
}

// Only switches that hold packets back ever stop a host.
base::Status Emulator::open_shaper(const Settings& settings) {
  const bool waits = std::any_of(cluster_.switches.begin(), cluster_.switches.end(),
                                 [](const topology::Switch& node) {
                                   return node.flow_control == topology::FlowControl::kBackPressure;
                                 });
  if (!waits || settings.processes.empty()) return {};
  std::vector<Shaped> hosts;
  for (std::uint32_t i = 0; i < interfaces_.size(); ++i) {
    const std::uint32_t port = network_->simulator().routes().host_port(i);
    const topology::Link& link = cluster_.links[port / 2];
    const bool up = port % 2 == 0;
    if (interfaces_[i].host >= settings.processes.size()) {
      return base::bad_input("a process for each host is expected");
    }
    hosts.push_back(
        {settings.processes[interfaces_[i].host], fmt::format("eth{}", interfaces_[i].number),
         up ? link.rate_up_mbit_s : link.rate_down_mbit_s,
         cluster_.framing.mtu_bytes + cluster_.framing.link_header_bytes,
         std::max(kHeldBackPackets, up ? link.queue_up_packets : link.queue_down_packets),
         link_header_bytes_ - static_cast<std::int32_t>(kEthernetBytes)});
  }
  auto shaper = Shaper::open(hosts);
  if (!shaper) return shaper.error();
  shaper_ = std::move(shaper).value();
  return {};
}

// ---- frames that come in -----------------------------------------------------------------------

bool Emulator::take_frames() {
  bool any = false;
  while (const auto arrival = ring_->next()) {
    if (!any) clock_.adjust();
    any = true;
    take_frame(*arrival);
  }
  dirty_ = dirty_ || any || network_->held() > 0;
  return any;
}

void Emulator::take_frame(const FrameRing::Arrival& arrival) {
  const std::span<const std::byte> frame = ring_->frame(arrival.id);
  const std::uint32_t from =
      arrival.device < of_device_.size() ? of_device_[arrival.device] : sim::kNone;
  const auto station = destination_of(frame);
  const auto to = station ? numbers_.find({station->host, station->number}) : numbers_.end();
  if (from == sim::kNone || to == numbers_.end() || to->second == from) {
    ++counts_.strangers;
    ring_->release(arrival.id);
    return;
  }
  ++counts_.frames_in;
  const auto bytes = static_cast<std::int32_t>(frame.size()) -
                     static_cast<std::int32_t>(kEthernetBytes) + link_header_bytes_;
  const Entering entering{arrival.id, from, to->second,
                          static_cast<std::uint32_t>(std::max(1, bytes)), entropy_of(frame)};
  const Picos at = clock_.of_realtime(arrival.realtime_ns);
  if (routers_ && refuse(frame, entering, at)) {
    ring_->release(arrival.id);
    return;
  }
  network_->enter(entering, at);
}

// Whether a router will not pass the packet on; then its sender is told so. Packets of this kind
// are few and take no part in queues: they take their time on every link, there and back.
bool Emulator::refuse(std::span<const std::byte> frame, const Entering& entering, Picos at) {
  const std::uint32_t ttl = ttl_of(frame).value_or(kTtlFew);
  if (ttl >= kTtlFew && !withdrawn_) return false;
  sim::Simulator& simulator = network_->simulator();
  const std::uint32_t label = network_->label(entering.from, entering.to, entering.entropy);
  const auto path = simulator.routes().path(entering.from, entering.to, label);
  const bool reachable = !path.empty();
  const std::size_t switches = path.size() - 1;
  if (reachable && ttl > switches) return false;
  const std::size_t links = reachable ? std::max<std::size_t>(ttl, 1) : 1;
  const std::uint32_t first = simulator.routes().host_port(entering.from);
  const std::uint32_t last = reachable ? path[links - 1] : first;
  const topology::Link& link = cluster_.links[last / 2];
  const topology::NodeId node = last % 2 == 0 ? link.to : link.from;
  auto text = answer(reachable ? Refusal::kTimeExceeded : Refusal::kUnreachableHost, frame,
                     node.value - cluster_.host_count());
  Picos due = at;
  for (std::size_t i = 0; i < links; ++i) {
    const std::uint32_t port = i == 0 ? first : path[i];
    const auto latency =
        static_cast<Picos>(cluster_.links[port / 2].latency_us * sim::kPicosPerMicro);
    due += 2 * latency + sim::serialization(entering.bytes, simulator.rate_bit_s(port)) +
           sim::serialization(text.size(), simulator.rate_bit_s(routing::reverse(port)));
  }
  answer_later(std::move(text), entering.from, due);
  return true;
}

void Emulator::answer_later(std::vector<std::byte> text, std::uint32_t to, Picos due) {
  text.insert(text.begin(), FrameRing::kHeaderBytes, std::byte{0});
  answers_.emplace(due, Answer{std::move(text), to});
  ++counts_.answered;
}

// ---- frames that go out ------------------------------------------------------------------------

std::uint32_t Emulator::switches_between(std::uint32_t from, std::uint32_t to) {
  std::uint8_t& known = hops_[std::size_t{from} * interfaces_.size() + to];
  if (known == 0) {
    const auto path = network_->simulator().routes().path(from, to, network_->label(from, to, 0));
    constexpr std::size_t kMost = 255;
    known = static_cast<std::uint8_t>(std::clamp<std::size_t>(path.size(), 2, kMost) - 1);
  }
  return known;
}

void Emulator::count_late(Picos late, Picos frame_time) {
  const auto late_ns = static_cast<std::uint64_t>(std::max<Picos>(0, late) / sim::kPicosPerNano);
  counts_.late_ns += late_ns;
  counts_.late_ns_max = std::max(counts_.late_ns_max, late_ns);
  if (late > frame_time) ++counts_.late_frames;
  ++counts_.frames_out;
}

void Emulator::deliver() {
  std::vector<Delivered>& out = network_->delivered();
  std::size_t released = 0;
  Picos now = 0;
  const auto flush = [&](std::size_t end) {
    sender_->flush();
    for (; released < end; ++released) ring_->release(out[released].id);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Delivered& done = out[i];
    if (sender_->empty()) now = clock_.now();
    count_late(now - done.due, network_->frame_time(done.to));
    if (routers_) lower_ttl(ring_->frame(done.id), switches_between(done.from, done.to));
    if (done.marked) mark_congestion(ring_->frame(done.id));
    sender_->add(device_[done.to], ring_->with_header(done.id));
    if (sender_->full()) flush(i + 1);
  }
  flush(out.size());
  out.clear();
  for (const std::uint32_t id : network_->lost()) ring_->release(id);
  network_->lost().clear();
}

void Emulator::deliver_answers(Picos now) {
  while (!answers_.empty() && answers_.begin()->first <= now) {
    const Answer& first = answers_.begin()->second;
    sender_->add(device_[first.to], first.frame);
    sender_->flush();
    answers_.erase(answers_.begin());
  }
}

// Hosts are stopped and let go; what happens twice in a moment cancels out.
void Emulator::settle() {
  std::vector<Network::Stop>& stops = network_->stops();
  if (stops.empty()) return;
  if (shaper_ != nullptr) {
    std::map<std::uint32_t, std::pair<bool, bool>> changes;  // before the first, after the last
    for (const Network::Stop& stop : stops) {
      const auto [entry, is_new] = changes.try_emplace(stop.interface, !stop.stop, stop.stop);
      if (!is_new) entry->second.second = stop.stop;
    }
    for (const auto& [interface, change] : changes) {
      if (change.first == change.second) continue;
      change.second ? shaper_->stop(interface) : shaper_->let_go(interface);
    }
  }
  stops.clear();
}

// ---- what others ask ---------------------------------------------------------------------------

void Emulator::obey() {
  std::string text;
  if (!control_->take(text)) return;
  control_->answer(carry_out(text));
  dirty_ = true;
}

std::string Emulator::carry_out(const std::string& text) {
  auto request = parse_request(text, static_cast<std::uint32_t>(cluster_.links.size()));
  if (!request) return "error " + request.error().message;
  if (const auto* change = std::get_if<SetLink>(&request.value())) {
    network_->simulator().set_condition(change->link, {change->rate, change->loss});
    for (std::uint32_t i = 0; shaper_ != nullptr && i < interfaces_.size(); ++i) {
      const std::uint32_t port = network_->simulator().routes().host_port(i);
      if (port / 2 == change->link) shaper_->set_rate(i, change->rate);
    }
    return "ok";
  }
  const auto& withdraw = std::get<Withdraw>(request.value());
  if (auto made = network_->simulator().reroute_without(withdraw.dead); !made) {
    return "error " + made.error().message;
  }
  withdrawn_ = std::find(withdraw.dead.begin(), withdraw.dead.end(), true) != withdraw.dead.end();
  std::fill(hops_.begin(), hops_.end(), 0);
  return "ok";
}

void Emulator::publish(Picos now) {
  sim::Simulator& simulator = network_->simulator();
  counts_.ports = simulator.ports();
  counts_.lost = ring_->lost() + sender_->lost();
  counts_.held = network_->held();
  counts_.cpu_ns = static_cast<std::uint64_t>(nanos(CLOCK_PROCESS_CPUTIME_ID));
  counts_.published_ns = static_cast<std::uint64_t>(nanos(CLOCK_MONOTONIC));
  counts_.realtime = counters_->header().realtime;
  counters_->begin();
  counts_.sequence = counters_->header().sequence;
  counters_->header() = counts_;
  for (std::uint32_t port = 0; port < simulator.ports(); ++port) {
    const sim::PortStats& stats = simulator.stats(port);
    const sim::Waiting waiting = simulator.waiting(port);
    PortCounters& out = counters_->port(port);
    // In a ring, packets count when they are put there.
    const std::uint64_t in_ring = std::min<std::uint64_t>(waiting.in_ring, stats.packets);
    out.sent_packets = stats.packets - in_ring;
    out.sent_bytes = stats.bytes - std::min(waiting.bytes, stats.bytes);
    out.dropped_packets = stats.dropped - stats.lost;
    out.lost_packets = stats.lost;
    out.input_dropped = stats.input_dropped;
    out.marked = stats.marked;
    out.queued_packets = waiting.packets;
    out.queue_high_water = stats.queue_high_water;
    out.input_queued = waiting.at_input;
    out.input_high_water = stats.input_high_water;
  }
  for (std::uint32_t i = 0; shaper_ != nullptr && i < interfaces_.size(); ++i) {
    counters_->port(simulator.routes().host_port(i)).wakes_dropped = shaper_->wakes_dropped(i);
  }
  counters_->end();
  published_ = now;
  dirty_ = false;
  if (!deadlocked_ && !simulator.deadlock().empty()) {
    deadlocked_ = true;
    std::fputs("the switches of this lab wait for each other in a circle: a deadlock\n", stderr);
  }
}

// ---- the loop ----------------------------------------------------------------------------------

// Nothing that comes now is due before the shortest route ends: so long it may sleep without a look
// at what comes. For longer it sleeps where frames come thick, and looks again; else the next frame
// wakes it.
void Emulator::sleep(bool frames_came) {
  Picos due = network_->quiet_until(tolerated_);
  if (!answers_.empty()) due = std::min(due, answers_.begin()->first);
  if (due == sim::kNever) {
    wait_for_frames(dirty_ ? published_ + kPublishEvery : sim::kNever);
    return;
  }
  const Picos now = clock_.now();
  const Picos look = now + std::clamp(network_->shortest_route(), tolerated_, kLookSeldom);
  const bool watches = due > look && !frames_came;
  Picos wake = watches ? due : std::min(due, look);
  if (wake < due || network_->several_due(due + 2 * tolerated_)) wake += tolerated_;
  // Sleep lasts too long on the average: it is cut short by that.
  wake -= overslept_;
  if (wake <= now) return;
  if (watches) {
    wait_for_frames(wake);
  } else {
    ++counts_.wakeups;
    const timespec until = clock_.when(wake);
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  const Picos over = clock_.now() - wake;
  if (over > 0) overslept_ += (std::min(over, kOversleptMost) - overslept_) / kOversleptWeight;
}

// Until then, or one comes, or somebody has a request.
void Emulator::wait_for_frames(Picos until) {
  ++counts_.wakeups;
  ring_->let_poll();
  std::array<pollfd, 2> watched{pollfd{ring_->descriptor(), POLLIN, 0},
                                pollfd{control_->descriptor(), POLLIN, 0}};
  timespec limit{};
  if (until != sim::kNever) {
    const std::int64_t ns = std::max<Picos>(0, until - clock_.now()) / sim::kPicosPerNano;
    limit = {ns / kNanos, ns % kNanos};
  }
  ::ppoll(watched.data(), watched.size(), until == sim::kNever ? nullptr : &limit, nullptr);
  if (watched[1].revents != 0) obey();
}

void Emulator::run() {
  clock_.adjust();
  for (;;) {
    const Picos now = clock_.now();
    const bool frames_came = take_frames();
    network_->advance(now, tolerated_ + kSleepLeast);
    deliver();
    deliver_answers(now);
    settle();
    if (dirty_ && now - published_ >= kPublishEvery) {
      publish(now);
      obey();
    }
    sleep(frames_came);
  }
}

}  // namespace alm::emulate
