#include "node/node.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include "transport/attendance.h"
#include "transport/io/driver.h"

namespace alm::node {
namespace {

constexpr base::Nanos kProgressInterval = base::kMillisecond;
constexpr base::Nanos kLookInterval = 100 * base::kMillisecond;
constexpr std::uint32_t kUnfailed = 0, kFailing = 1, kFailed = 2;

// Between processes, hence not the private kind. Returns when woken, changed, or after a while.
void sleep_on(SharedGate& gate, std::uint32_t seen) {
  const timespec limit{0, kProgressInterval};
  gate.sleepers.fetch_add(1);
  ::syscall(SYS_futex, &gate.event, FUTEX_WAIT, seen, &limit, nullptr, 0);
  gate.sleepers.fetch_sub(1);
}

// Who counts as a sleeper after this has looked finds that `event` has changed.
void wake_all(SharedGate& gate) {
  gate.event.fetch_add(1);
  if (gate.sleepers.load() == 0) return;
  ::syscall(SYS_futex, &gate.event, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

double seconds(base::Nanos time) { return static_cast<double>(time) / 1e9; }

}  // namespace

Node::Node(std::unique_ptr<NodeMemory> memory, std::vector<std::uint32_t> ranks,
           std::vector<std::string> names, Settings settings)
    : memory_(std::move(memory)),
      ranks_(std::move(ranks)),
      names_(std::move(names)),
      settings_(std::move(settings)),
      watches_(ranks_.size()) {
  memory_->close_file();
}

SharedGate& Node::gate(Side side) const {
  auto& head = memory_->head();
  switch (side) {
    case Side::kPosted:
      return head.posted;
    case Side::kDelivered:
      return head.delivered;
    case Side::kTaken:
      break;
  }
  return head.taken;
}

// The count of the turns of this parity at which all have come to `turn`. Nobody is two ahead.
std::uint64_t Node::wanted(Side side, std::uint64_t turn) const {
  const std::uint64_t each = side == Side::kDelivered ? settings_.leaders_max : ranks_.size();
  return each * (turn / 2 + 1);
}

void Node::reach(Side side, std::uint64_t turn, std::uint64_t count) {
  SharedGate& counted = gate(side);
  if (counted.count[turn % 2].fetch_add(count) + count == wanted(side, turn)) {
    wake_all(counted);
  }
}

// Whether it is there after others have had the processor for a moment: where ranks share cores, it
// is they who bring it. A sleep and a wake-up cost as much as some ten looks.
bool Node::comes_soon(Side side, std::uint64_t turn) {
  base::Looks& looks = looks_[static_cast<std::size_t>(side)];
  if (!looks.pay()) return false;
  const SharedGate& awaited = gate(side);
  for (int look = 0; look < base::Looks::kBeforeSleep; ++look) {
    ::sched_yield();
    if (awaited.count[turn % 2].load() < wanted(side, turn)) continue;
    looks.note(true);
    return true;
  }
  looks.note(false);
  return false;
}

base::Status Node::await(Side side, std::uint64_t turn) {
  SharedGate& awaited = gate(side);
  const auto reached = [&] { return awaited.count[turn % 2].load() >= wanted(side, turn); };
  base::Nanos begin = 0;
  base::Nanos last_progress = 0;
  base::Nanos last_look = 0;
  if (reached() || comes_soon(side, turn)) return {};
  while (true) {
    const std::uint32_t seen = awaited.event.load();
    // What has been reached counts, whatever has failed since: all ranks end in the same turn.
    if (reached()) return {};
    if (memory_->head().failed.load() == kFailed) return failed();
    const base::Nanos now = io::monotonic_now();
    if (begin == 0) begin = last_progress = last_look = now;
    if (now - last_progress >= kProgressInterval) {
      last_progress = now;
      if (settings_.progress) settings_.progress();
    }
    if (now - last_look >= kLookInterval) {
      last_look = now;
      if (auto well = look_after(side, turn, now); !well) return well;
      if (side == Side::kPosted && now - begin >= settings_.peer_warning) tell_absent(now - begin);
    }
    sleep_on(awaited, seen);
  }
}

bool Node::awaited(Side side, std::uint64_t turn, std::uint32_t local_rank) const {
  if (local_rank == memory_->local_rank()) return false;
  const SharedSlot& slot = memory_->slot(local_rank);
  if (side == Side::kPosted) return slot.posted.load() <= turn;
  if (side == Side::kTaken) return slot.taken.load() <= turn;
  return local_rank < leaders_;
}

base::Status Node::look_after(Side side, std::uint64_t turn, base::Nanos now) {
  if (const auto loss = settings_.loss ? settings_.loss() : std::nullopt) {
    fail(loss->error, loss->lost);
    return failure() ? failed() : loss->error;
  }
  for (std::uint32_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
    if (!awaited(side, turn, local_rank)) continue;
    const auto away = elsewhere(local_rank);
    const auto life = memory_->life_of(local_rank);
    if (away || life == Life::kGone) {
      // It may have done its part just before it went.
      if (gate(side).count[turn % 2].load() >= wanted(side, turn)) return {};
      if (!awaited(side, turn, local_rank)) continue;
      return away ? part(local_rank, *away) : lose(local_rank, "its process has ended");
    }
    Watch& watch = watches_[local_rank];
    if (life != Life::kStopped) {
      watch = {};
      continue;
    }
    if (watch.stopped_since == 0) watch.stopped_since = now;
    const base::Nanos stopped = now - watch.stopped_since;
    if (stopped >= settings_.peer_timeout) {
      return lose(local_rank,
                  fmt::format("stopped for {:.1f} s (ALLEMANDE_PEER_TIMEOUT_S)", seconds(stopped)));
    }
    if (stopped < settings_.peer_warning || watch.warned) continue;
    watch.warned = true;
    if (settings_.warn) {
      settings_.warn(fmt::format(
          "{} stopped for {:.1f} s; waiting until {:.0f} s (ALLEMANDE_PEER_TIMEOUT_S)",
          names_[ranks_[local_rank]], seconds(stopped), seconds(settings_.peer_timeout)));
    }
  }
  return {};
}

// Those that live and have not begun this call, as io::Driver names other hosts. By the host
// leader, once for each call.
void Node::tell_absent(base::Nanos waited) {
  const std::uint64_t here = memory_->slot(memory_->local_rank()).call.load();
  if (!settings_.warn || !is_host_leader() || told_absent_ == here) return;
  std::vector<std::string> names;
  for (std::uint32_t local_rank = 1; local_rank < ranks_.size(); ++local_rank) {
    const bool late = memory_->slot(local_rank).call.load() < here;
    if (late && watches_[local_rank].stopped_since == 0)
      names.push_back(names_[ranks_[local_rank]]);
  }
  if (names.empty()) return;
  told_absent_ = here;
  settings_.warn(io::absent_text(names, settings_.call, waited));
}

// A rank that sends by other means in the call this one is in, or in a later one: if this one
// still waits for it, it does not come.
std::optional<Node::Elsewhere> Node::elsewhere(std::uint32_t local_rank) const {
  const SharedSlot& slot = memory_->slot(local_rank);
  const std::uint64_t here = memory_->slot(memory_->local_rank()).call.load();
  // The number on both sides of it: it may be in the next call already (begin()).
  const std::uint64_t call = slot.call.load();
  const std::uint64_t sends = slot.elsewhere.load();
  if (call < here || sends == 0 || slot.call.load() != call) return std::nullopt;
  return Elsewhere{call, call == here ? std::optional(sends - 1) : std::nullopt};
}

base::Status Node::part(std::uint32_t local_rank, const Elsewhere& from) {
  if (from.call == transport::Attendance::kNoFurtherCall) {
    return fail_for(local_rank,
                    base::bad_input(io::no_further_call_text(names_[ranks_[local_rank]])));
  }
  const auto bytes = memory_->slot(memory_->local_rank()).bytes.load();
  return fail_for(local_rank, base::bad_input(io::another_way_text(
                                  names_[ranks_[local_rank]], from.sends,
                                  names_[ranks_[memory_->local_rank()]], bytes)));
}

base::Status Node::lose(std::uint32_t local_rank, const std::string& why) {
  const std::string text = fmt::format("{} is lost: {}", names_[ranks_[local_rank]], why);
  return fail_for(local_rank, {base::ErrorCode::kPeerLost, text});
}

// Another rank may be writing why it failed, or have died over it: then there is nothing to read.
base::Status Node::fail_for(std::uint32_t local_rank, const base::Error& error) {
  fail(error, ranks_[local_rank]);
  return failure() ? failed() : error;
}

void Node::begin(std::uint64_t call, std::optional<std::uint64_t> elsewhere) {
  SharedSlot& slot = memory_->slot(memory_->local_rank());
  slot.elsewhere.store(0);
  slot.call.store(call);
  if (elsewhere) slot.elsewhere.store(*elsewhere + 1);
}

base::Status Node::ready_to_post(std::uint64_t turn) {
  if (memory_->head().failed.load() == kFailed) return failed();
  return turn < 2 ? base::Status{} : await(Side::kTaken, turn - 2);
}

void Node::post(std::uint64_t turn, const NodeCall& call) {
  SharedSlot& slot = memory_->slot(memory_->local_rank());
  slot.kind = call.kind;
  slot.bytes = call.bytes;
  leaders_ = call.leaders;
  slot.posted.store(turn + 1);
  reach(Side::kPosted, turn);
}

base::Status Node::await_posts(std::uint64_t turn, const NodeCall& call) {
  if (auto all = await(Side::kPosted, turn); !all) return all;
  const std::uint32_t self = memory_->local_rank();
  for (std::uint32_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
    if (local_rank == self) continue;
    const SharedSlot& slot = memory_->slot(local_rank);
    if (slot.kind == call.kind && slot.bytes == call.bytes) continue;
    const auto what = [](std::uint64_t kind, std::uint64_t bytes) {
      if (kind == NodeCall::kBlocks) return std::string("blocks of any sizes");
      return fmt::format("{} bytes per pair", bytes);
    };
    // Other hosts are told of a rank that is lost, and end as well.
    return fail_for(local_rank,
                    base::bad_input(fmt::format(
                        "{} exchanges {}, {} {}", names_[ranks_[self]], what(call.kind, call.bytes),
                        names_[ranks_[local_rank]], what(slot.kind, slot.bytes))));
  }
  return {};
}

// The host leader counts for those that lead no part of this call, too.
void Node::deliver(std::uint64_t turn) {
  const std::uint32_t idle = settings_.leaders_max - leaders_;
  reach(Side::kDelivered, turn, memory_->local_rank() == 0 ? 1 + idle : 1);
}

base::Status Node::await_delivery(std::uint64_t turn) { return await(Side::kDelivered, turn); }

void Node::take(std::uint64_t turn) {
  memory_->slot(memory_->local_rank()).taken.store(turn + 1);
  reach(Side::kTaken, turn);
}

void Node::fail(const base::Error& error, std::optional<std::uint32_t> lost) {
  auto& head = memory_->head();
  std::uint32_t state = kUnfailed;
  if (!head.failed.compare_exchange_strong(state, kFailing)) return;
  const std::size_t length = std::min(error.message.size(), kFailureTextBytes - 1);
  std::copy_n(error.message.begin(), length, head.failure.begin());
  head.failure[length] = '\0';
  head.failure_code = error.code;
  head.lost = lost.value_or(NodeMemory::kNobody);
  head.failed.store(kFailed);
  for (const Side side : {Side::kPosted, Side::kDelivered, Side::kTaken}) {
    wake_all(gate(side));
  }
}

std::optional<std::string> Node::failure() const {
  const auto& head = memory_->head();
  if (head.failed.load() != kFailed) return std::nullopt;
  return std::string(head.failure.data());
}

std::optional<std::uint32_t> Node::lost() const {
  const auto& head = memory_->head();
  if (head.failed.load() != kFailed || head.lost == NodeMemory::kNobody) return std::nullopt;
  return head.lost;
}

base::Status Node::failed() const { return base::Error{memory_->head().failure_code, *failure()}; }

}  // namespace alm::node
