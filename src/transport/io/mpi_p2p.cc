#include "transport/io/mpi_p2p.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <thread>
#include <utility>

namespace alm::io {
namespace {

using transport::Exchange;
using transport::PeerId;
using Clock = std::chrono::steady_clock;

// Tags. Both notices are empty.
constexpr int kGivenUp = 0;
constexpr int kSettled = 1;  // has given up, and nothing it has sent is under way
constexpr int kFirstLane = 2;

// Ranks may share cores with others that compute: poll briefly, letting them run, then sleep a
// little.
constexpr int kEmptyPollsBeforeSleep = 200;
constexpr std::chrono::microseconds kSleep{50};
constexpr int kEmptyPollsPerLook = 16;  // for notices

int class_of(const MpiApi& api, int code) {
  int error_class = MPI_ERR_UNKNOWN;
  api.Error_class(code, &error_class);
  return error_class;
}

}  // namespace

MpiP2p::MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options)
    : api_(api), comm_(comm), ranks_(ranks), options_(options), drained_(api.request_null) {}

int MpiP2p::tag_of(std::size_t lane) { return kFirstLane + static_cast<int>(lane); }

std::uint64_t MpiP2p::chunks_of(const Lane& lane, std::uint64_t bytes) {
  return bytes == 0 ? 0 : bytes / lane.chunk_bytes + 1;
}

std::byte* MpiP2p::scratch() {
  if (scratch_.empty()) scratch_.resize(options_.chunk_bytes);
  return scratch_.data();
}

int MpiP2p::start(std::size_t number, const Exchange& exchange, const MessageFlow& flow) {
  assert(number < kLanesMax && !gave_up_);
  if (trouble_) return MPI_ERR_TRUNCATE;
  if (number >= lanes_.size()) lanes_.resize(number + 1);
  Lane& lane = lanes_[number];
  assert(!lane.running);
  const auto& rounds = *exchange.rounds;
  lane.exchange = exchange;
  const std::uint32_t most = std::max(ranks_, flow.window_chunks);
  lane.window = std::clamp<std::size_t>(flow.outstanding, 1, most);
  lane.unclocked = std::max(options_.unclocked, std::chrono::nanoseconds(flow.patience));
  lane.chunk_bytes = options_.chunk_bytes;
  if (flow.chunk_bytes != 0) lane.chunk_bytes = std::min(lane.chunk_bytes, flow.chunk_bytes);
  lane.clocked = flow.window_chunks > 0;
  lane.quiet_since = Clock::now();
  std::uint64_t to_come = 0;
  for (const PeerId peer : rounds.recv) to_come += chunks_of(lane, exchange.recv.size_of(peer));
  std::vector<std::uint64_t> to_send;
  for (const PeerId peer : rounds.send) {
    to_send.push_back(chunks_of(lane, exchange.send.size_of(peer)));
  }
  lane.turns.start(rounds, std::move(to_send), to_come, flow.window_chunks);
  lane.requests.assign(rounds.recv.size() + lane.window, api_.request_null);
  lane.free_sends.clear();
  for (std::size_t slot = 0; slot < lane.window; ++slot) {
    lane.free_sends.push_back(rounds.recv.size() + slot);
  }
  lane.received.assign(rounds.recv.size(), 0);
  lane.coming.assign(rounds.recv.size(), Coming::kMore);
  for (std::size_t i = 0; i < rounds.send.size() && !exchange.withheld.empty(); ++i) {
    if (exchange.withheld[rounds.send[i]] != 0) lane.turns.withhold(i);
  }
  lane.exchange.withheld = {};  // read at the start only
  lane.arrivals.clear();
  if (finished_.size() < lane.requests.size()) {
    finished_.resize(lane.requests.size());
    statuses_.resize(lane.requests.size());
  }
  lane.running = true;
  for (std::size_t receive = 0; receive < rounds.recv.size(); ++receive) {
    if (exchange.recv.size_of(rounds.recv[receive]) == 0) {
      lane.coming[receive] = Coming::kAll;
      lane.turns.whole(receive);
    } else if (const int code = post_receive(number, receive); code != MPI_SUCCESS) {
      return code;
    }
  }
  return proceed(number);
}

void MpiP2p::make_ready(std::size_t number, PeerId peer) { lanes_[number].turns.make_ready(peer); }

int MpiP2p::await(std::span<const std::size_t> lanes, Event& event) {
  assert(std::any_of(lanes.begin(), lanes.end(), [&](std::size_t lane) {
    return lane < lanes_.size() && lanes_[lane].running;
  }));
  for (int empty_polls = 0;;) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (const int code = proceed(lane); code != MPI_SUCCESS) return code;
    }
    const auto next = next_event(lanes);
    if (next && (next->arrived || !trouble_)) {
      event = *next;
      return MPI_SUCCESS;
    }
    if (next) return MPI_ERR_TRUNCATE;
    bool any = false;
    if (const int code = collect_all(any); code != MPI_SUCCESS) return code;
    if (any) {
      empty_polls = 0;
      continue;
    }
    // A notice ends what is waited for, but nothing that came before it.
    if (trouble_ && trouble_->gave_up) return MPI_ERR_TRUNCATE;
    if (++empty_polls % kEmptyPollsPerLook == 0) {
      if (const int code = look_for_notices(); code != MPI_SUCCESS) return code;
    }
    if (empty_polls > kEmptyPollsBeforeSleep) {
      std::this_thread::sleep_for(kSleep);
    } else {
      std::this_thread::yield();
    }
  }
}

std::optional<MpiP2p::Event> MpiP2p::next_event(std::span<const std::size_t> lanes) {
  for (std::size_t index = 0; index < lanes.size(); ++index) {
    if (lanes[index] >= lanes_.size()) continue;
    Lane& lane = lanes_[lanes[index]];
    if (!lane.arrivals.empty()) {
      const Event event{index, lane.arrivals.front()};
      lane.arrivals.pop_front();
      return event;
    }
    if (!lane.running || !lane.turns.over()) continue;
    lane.running = false;
    return Event{index, {}};
  }
  return std::nullopt;
}

// Sends what may be sent, in this round and those after.
int MpiP2p::proceed(std::size_t number) {
  Lane& lane = lanes_[number];
  if (!lane.running) return MPI_SUCCESS;
  while (!lane.turns.over()) {
    if (const int code = post_sends(number); code != MPI_SUCCESS) return code;
    if (lane.free_sends.size() != lane.window || !lane.turns.end_round()) break;
  }
  return MPI_SUCCESS;
}

bool MpiP2p::may_send(Lane& lane) const {
  if (!lane.turns.held_back()) return true;
  const auto now = Clock::now();
  if (now - lane.quiet_since < lane.unclocked) return false;
  lane.quiet_since = now;
  lane.turns.relent();
  return true;
}

int MpiP2p::post_sends(std::size_t number) {
  Lane& lane = lanes_[number];
  while (lane.turns.anything_left() && !lane.free_sends.empty() && may_send(lane)) {
    const auto turn = lane.turns.next();
    if (!turn) break;
    const PeerId peer = lane.exchange.rounds->send[turn->send];
    const std::uint64_t offset = turn->chunk * lane.chunk_bytes;
    const std::uint64_t bytes =
        std::min(lane.chunk_bytes, lane.exchange.send.size_of(peer) - offset);
    const int code = api_.Isend(lane.exchange.send.at(peer) + offset, static_cast<int>(bytes),
                                api_.byte, static_cast<int>(peer), tag_of(number), comm_,
                                &lane.requests[lane.free_sends.back()]);
    if (code != MPI_SUCCESS) return code;
    lane.free_sends.pop_back();
    ++messages_sent_;
  }
  return MPI_SUCCESS;
}

int MpiP2p::post_receive(std::size_t number, std::size_t receive) {
  Lane& lane = lanes_[number];
  if (lane.coming[receive] == Coming::kAll) return MPI_SUCCESS;
  const PeerId peer = lane.exchange.rounds->recv[receive];
  const std::uint64_t size = lane.exchange.recv.size_of(peer);
  const std::uint64_t offset = lane.received[receive];
  // The end of a block of whole chunks, or of one that is longer than expected.
  const bool beyond = offset >= size || lane.coming[receive] == Coming::kTooMuch;
  const std::uint64_t room = beyond ? lane.chunk_bytes : std::min(lane.chunk_bytes, size - offset);
  return api_.Irecv(beyond ? scratch() : lane.exchange.recv.at(peer) + offset,
                    static_cast<int>(room), api_.byte, static_cast<int>(peer), tag_of(number),
                    comm_, &lane.requests[receive]);
}

int MpiP2p::collect_all(bool& any) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!lanes_[lane].running) continue;
    if (const int code = collect(lane, any); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int MpiP2p::collect(std::size_t number, bool& any) {
  Lane& lane = lanes_[number];
  int count = 0;
  const int code = api_.Testsome(static_cast<int>(lane.requests.size()), lane.requests.data(),
                                 &count, finished_.data(), statuses_.data());
  const bool in_status = code != MPI_SUCCESS && class_of(api_, code) == MPI_ERR_IN_STATUS;
  if ((code != MPI_SUCCESS && !in_status) || count == MPI_UNDEFINED) return code;
  any = any || count > 0;
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (slot >= lane.receives()) {
      if (in_status && status.MPI_ERROR != MPI_SUCCESS) return status.MPI_ERROR;
      lane.free_sends.push_back(slot);
      continue;
    }
    if (const int taken = take(lane, slot, status, in_status); taken != MPI_SUCCESS) return taken;
    if (const int posted = post_receive(number, slot); posted != MPI_SUCCESS) return posted;
  }
  return MPI_SUCCESS;
}

// A chunk has come. `in_status`: its MPI_ERROR says something.
int MpiP2p::take(Lane& lane, std::size_t receive, const MPI_Status& status, bool in_status) {
  lane.turns.came();
  if (lane.clocked) lane.quiet_since = Clock::now();
  const PeerId peer = lane.exchange.rounds->recv[receive];
  const std::uint64_t expected = lane.exchange.recv.size_of(peer);
  const auto differs = [&](std::optional<std::uint64_t> sent) {
    if (!trouble_ || trouble_->gave_up) {
      trouble_ = {.peer = peer, .gave_up = false, .expected = expected, .sent = sent};
    }
    return lane.exchange.reports_arrivals ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  };
  if (in_status && status.MPI_ERROR != MPI_SUCCESS) {
    if (class_of(api_, status.MPI_ERROR) != MPI_ERR_TRUNCATE) return status.MPI_ERROR;
    // Whether it was the last one nobody can tell.
    lane.coming[receive] = Coming::kTooMuch;
    lane.turns.whole(receive);
    return differs(std::nullopt);
  }
  if (lane.coming[receive] == Coming::kTooMuch) return MPI_SUCCESS;
  int bytes = 0;
  const int code = api_.Get_count(&status, api_.byte, &bytes);
  if (code != MPI_SUCCESS) return code;
  lane.received[receive] += static_cast<std::uint64_t>(bytes);
  if (static_cast<std::uint64_t>(bytes) == lane.chunk_bytes) return MPI_SUCCESS;
  lane.coming[receive] = Coming::kAll;
  lane.turns.whole(receive);
  if (lane.received[receive] != expected) return differs(lane.received[receive]);
  if (lane.exchange.reports_arrivals) lane.arrivals.push_back(peer);
  return MPI_SUCCESS;
}

int MpiP2p::look_for_notices() {
  int found = 0;
  MPI_Status status;
  const int code = api_.Iprobe(MPI_ANY_SOURCE, kGivenUp, comm_, &found, &status);
  if (code == MPI_SUCCESS && found != 0 && !trouble_) {
    trouble_ = {
        .peer = static_cast<PeerId>(status.MPI_SOURCE), .gave_up = true, .expected = 0, .sent = {}};
  }
  return code;
}

void MpiP2p::tell_all(PeerId self, int tag) const {
  for (PeerId peer = 0; peer < ranks_; ++peer) {
    if (peer == self) continue;
    MPI_Request told = api_.request_null;
    if (api_.Isend(nullptr, 0, api_.byte, static_cast<int>(peer), tag, comm_, &told) ==
        MPI_SUCCESS) {
      api_.Request_free(&told);
    }
  }
}

void MpiP2p::give_up(PeerId self) {
  if (gave_up_) return;
  gave_up_ = true;
  tell_all(self, kGivenUp);
  for (Lane& lane : lanes_) {
    // Where a block was too long, a receive is left of an exchange that is over.
    if (lane.requests.empty()) continue;
    for (std::size_t receive = 0; receive < lane.receives(); ++receive) {
      if (lane.requests[receive] != api_.request_null) api_.Cancel(&lane.requests[receive]);
    }
  }
  // Others who give up wait for this rank to take what they have sent it, as it does for them.
  std::vector<bool> settled(ranks_);
  settled[self] = true;
  const auto until = Clock::now() + options_.giving_up;
  std::optional<Clock::time_point> settled_at;
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    test_all();
    if (all_ended()) {
      if (!settled_at) {
        tell_all(self, kSettled);
        settled_at = now;
      }
      const bool all = std::find(settled.begin(), settled.end(), false) == settled.end();
      if (all || now - *settled_at >= options_.stay_for_others) return;
    }
    drain(settled);
    std::this_thread::sleep_for(kSleep);
  }
}

void MpiP2p::test_all() {
  for (Lane& lane : lanes_) {
    if (lane.requests.empty()) continue;
    int count = 0;
    api_.Testsome(static_cast<int>(lane.requests.size()), lane.requests.data(), &count,
                  finished_.data(), statuses_.data());
  }
  int done = 0;
  if (drained_ != api_.request_null) api_.Test(&drained_, &done, MPI_STATUS_IGNORE);
}

// Takes whatever has come, one message at a time.
void MpiP2p::drain(std::vector<bool>& settled) {
  while (drained_ == api_.request_null) {
    int found = 0;
    MPI_Status status;
    if (api_.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &status) != MPI_SUCCESS) return;
    if (found == 0) return;
    const int source = status.MPI_SOURCE;
    const int tag = status.MPI_TAG;
    if (api_.Irecv(scratch(), static_cast<int>(options_.chunk_bytes), api_.byte, source, tag, comm_,
                   &drained_) != MPI_SUCCESS) {
      return;
    }
    if (tag == kSettled) settled[static_cast<std::size_t>(source)] = true;
    int done = 0;
    api_.Test(&drained_, &done, MPI_STATUS_IGNORE);
  }
}

bool MpiP2p::all_ended() const {
  if (drained_ != api_.request_null) return false;
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    return std::all_of(lane.requests.begin(), lane.requests.end(),
                       [&](MPI_Request request) { return request == api_.request_null; });
  });
}

bool MpiP2p::ended() {
  if (gave_up_) test_all();
  return all_ended();
}

}  // namespace alm::io
