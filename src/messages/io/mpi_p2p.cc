#include "messages/io/mpi_p2p.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <thread>
#include <utility>

namespace alm::messages {
namespace {

using transport::Exchange;
using transport::PeerId;
using Clock = std::chrono::steady_clock;

// Tags. Both notices are empty.
constexpr int kGivenUp = 0;
constexpr int kSettled = 1;  // has given up, and nothing it has sent is under way
constexpr int kFirstStrand = 2;

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

int MpiP2p::tag_of(std::size_t strand) { return kFirstStrand + static_cast<int>(strand); }

std::uint64_t MpiP2p::chunks_of(const Strand& strand, std::uint64_t bytes) {
  return bytes == 0 ? 0 : bytes / strand.chunk_bytes + 1;
}

std::byte* MpiP2p::scratch() {
  if (scratch_.empty()) scratch_.resize(options_.chunk_bytes);
  return scratch_.data();
}

int MpiP2p::start(std::size_t number, const Exchange& exchange, const MessageFlow& flow) {
  assert(number < kStrandsMax && !gave_up_);
  if (trouble_) return MPI_ERR_TRUNCATE;
  if (number >= strands_.size()) strands_.resize(number + 1);
  Strand& strand = strands_[number];
  assert(!strand.running);
  const auto& rounds = *exchange.rounds;
  strand.exchange = exchange;
  const std::uint32_t most = std::max(ranks_, flow.window_chunks);
  strand.window = std::clamp<std::size_t>(flow.outstanding, 1, most);
  strand.unclocked = std::max(options_.unclocked, std::chrono::nanoseconds(flow.patience));
  strand.chunk_bytes = options_.chunk_bytes;
  if (flow.chunk_bytes != 0) strand.chunk_bytes = std::min(strand.chunk_bytes, flow.chunk_bytes);
  strand.clocked = flow.window_chunks > 0;
  strand.quiet_since = Clock::now();
  std::uint64_t to_come = 0;
  for (const PeerId peer : rounds.recv) to_come += chunks_of(strand, exchange.recv.size_of(peer));
  std::vector<std::uint64_t> to_send;
  for (const PeerId peer : rounds.send) {
    to_send.push_back(chunks_of(strand, exchange.send.size_of(peer)));
  }
  strand.turns.start(rounds, std::move(to_send), to_come, flow.window_chunks);
  strand.requests.assign(rounds.recv.size() + strand.window, api_.request_null);
  strand.free_sends.clear();
  for (std::size_t slot = 0; slot < strand.window; ++slot) {
    strand.free_sends.push_back(rounds.recv.size() + slot);
  }
  strand.received.assign(rounds.recv.size(), 0);
  strand.coming.assign(rounds.recv.size(), Coming::kMore);
  for (std::size_t i = 0; i < rounds.send.size() && !exchange.withheld.empty(); ++i) {
    if (exchange.withheld[rounds.send[i]] != 0) strand.turns.withhold(i);
  }
  strand.exchange.withheld = {};  // read at the start only
  strand.arrivals.clear();
  if (finished_.size() < strand.requests.size()) {
    finished_.resize(strand.requests.size());
    statuses_.resize(strand.requests.size());
  }
  strand.running = true;
  for (std::size_t receive = 0; receive < rounds.recv.size(); ++receive) {
    if (exchange.recv.size_of(rounds.recv[receive]) == 0) {
      strand.coming[receive] = Coming::kAll;
      strand.turns.whole(receive);
    } else if (const int code = post_receive(number, receive); code != MPI_SUCCESS) {
      return code;
    }
  }
  return proceed(number);
}

void MpiP2p::make_ready(std::size_t number, PeerId peer) {
  strands_[number].turns.make_ready(peer);
}

int MpiP2p::await(std::span<const std::size_t> strands, Event& event) {
  assert(std::any_of(strands.begin(), strands.end(), [&](std::size_t strand) {
    return strand < strands_.size() && strands_[strand].running;
  }));
  for (int empty_polls = 0;;) {
    for (std::size_t strand = 0; strand < strands_.size(); ++strand) {
      if (const int code = proceed(strand); code != MPI_SUCCESS) return code;
    }
    const auto next = next_event(strands);
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

std::optional<MpiP2p::Event> MpiP2p::next_event(std::span<const std::size_t> strands) {
  for (std::size_t index = 0; index < strands.size(); ++index) {
    if (strands[index] >= strands_.size()) continue;
    Strand& strand = strands_[strands[index]];
    if (!strand.arrivals.empty()) {
      const Event event{index, strand.arrivals.front()};
      strand.arrivals.pop_front();
      return event;
    }
    if (!strand.running || !strand.turns.over()) continue;
    strand.running = false;
    return Event{index, {}};
  }
  return std::nullopt;
}

// Sends what may be sent, in this round and those after.
int MpiP2p::proceed(std::size_t number) {
  Strand& strand = strands_[number];
  if (!strand.running) return MPI_SUCCESS;
  while (!strand.turns.over()) {
    if (const int code = post_sends(number); code != MPI_SUCCESS) return code;
    if (strand.free_sends.size() != strand.window || !strand.turns.end_round()) break;
  }
  return MPI_SUCCESS;
}

bool MpiP2p::may_send(Strand& strand) const {
  if (!strand.turns.held_back()) return true;
  const auto now = Clock::now();
  if (now - strand.quiet_since < strand.unclocked) return false;
  strand.quiet_since = now;
  strand.turns.relent();
  return true;
}

int MpiP2p::post_sends(std::size_t number) {
  Strand& strand = strands_[number];
  while (strand.turns.anything_left() && !strand.free_sends.empty() && may_send(strand)) {
    const auto turn = strand.turns.next();
    if (!turn) break;
    const PeerId peer = strand.exchange.rounds->send[turn->send];
    const std::uint64_t offset = turn->chunk * strand.chunk_bytes;
    const std::uint64_t bytes =
        std::min(strand.chunk_bytes, strand.exchange.send.size_of(peer) - offset);
    const int code = api_.Isend(strand.exchange.send.at(peer) + offset, static_cast<int>(bytes),
                                api_.byte, static_cast<int>(peer), tag_of(number), comm_,
                                &strand.requests[strand.free_sends.back()]);
    if (code != MPI_SUCCESS) return code;
    strand.free_sends.pop_back();
    ++messages_sent_;
  }
  return MPI_SUCCESS;
}

int MpiP2p::post_receive(std::size_t number, std::size_t receive) {
  Strand& strand = strands_[number];
  if (strand.coming[receive] == Coming::kAll) return MPI_SUCCESS;
  const PeerId peer = strand.exchange.rounds->recv[receive];
  const std::uint64_t size = strand.exchange.recv.size_of(peer);
  const std::uint64_t offset = strand.received[receive];
  // The end of a block of whole chunks, or of one that is longer than expected.
  const bool beyond = offset >= size || strand.coming[receive] == Coming::kTooMuch;
  const std::uint64_t room =
      beyond ? strand.chunk_bytes : std::min(strand.chunk_bytes, size - offset);
  return api_.Irecv(beyond ? scratch() : strand.exchange.recv.at(peer) + offset,
                    static_cast<int>(room), api_.byte, static_cast<int>(peer), tag_of(number),
                    comm_, &strand.requests[receive]);
}

int MpiP2p::collect_all(bool& any) {
  for (std::size_t strand = 0; strand < strands_.size(); ++strand) {
    if (!strands_[strand].running) continue;
    if (const int code = collect(strand, any); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int MpiP2p::collect(std::size_t number, bool& any) {
  Strand& strand = strands_[number];
  int count = 0;
  const int code = api_.Testsome(static_cast<int>(strand.requests.size()), strand.requests.data(),
                                 &count, finished_.data(), statuses_.data());
  const bool in_status = code != MPI_SUCCESS && class_of(api_, code) == MPI_ERR_IN_STATUS;
  if ((code != MPI_SUCCESS && !in_status) || count == MPI_UNDEFINED) return code;
  any = any || count > 0;
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (slot >= strand.receives()) {
      if (in_status && status.MPI_ERROR != MPI_SUCCESS) return status.MPI_ERROR;
      strand.free_sends.push_back(slot);
      continue;
    }
    if (const int taken = take(strand, slot, status, in_status); taken != MPI_SUCCESS) return taken;
    if (const int posted = post_receive(number, slot); posted != MPI_SUCCESS) return posted;
  }
  return MPI_SUCCESS;
}

// A chunk has come. `in_status`: its MPI_ERROR says something.
int MpiP2p::take(Strand& strand, std::size_t receive, const MPI_Status& status, bool in_status) {
  strand.turns.came();
  if (strand.clocked) strand.quiet_since = Clock::now();
  const PeerId peer = strand.exchange.rounds->recv[receive];
  const std::uint64_t expected = strand.exchange.recv.size_of(peer);
  const auto differs = [&](std::optional<std::uint64_t> sent) {
    if (!trouble_ || trouble_->gave_up) {
      trouble_ = {.peer = peer, .gave_up = false, .expected = expected, .sent = sent};
    }
    return strand.exchange.reports_arrivals ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  };
  if (in_status && status.MPI_ERROR != MPI_SUCCESS) {
    if (class_of(api_, status.MPI_ERROR) != MPI_ERR_TRUNCATE) return status.MPI_ERROR;
    // Whether it was the last one nobody can tell.
    strand.coming[receive] = Coming::kTooMuch;
    strand.turns.whole(receive);
    return differs(std::nullopt);
  }
  if (strand.coming[receive] == Coming::kTooMuch) return MPI_SUCCESS;
  int bytes = 0;
  const int code = api_.Get_count(&status, api_.byte, &bytes);
  if (code != MPI_SUCCESS) return code;
  strand.received[receive] += static_cast<std::uint64_t>(bytes);
  if (static_cast<std::uint64_t>(bytes) == strand.chunk_bytes) return MPI_SUCCESS;
  strand.coming[receive] = Coming::kAll;
  strand.turns.whole(receive);
  if (strand.received[receive] != expected) return differs(strand.received[receive]);
  if (strand.exchange.reports_arrivals) strand.arrivals.push_back(peer);
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
  for (Strand& strand : strands_) {
    // Where a block was too long, a receive is left of an exchange that is over.
    if (strand.requests.empty()) continue;
    for (std::size_t receive = 0; receive < strand.receives(); ++receive) {
      if (strand.requests[receive] != api_.request_null) api_.Cancel(&strand.requests[receive]);
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
  for (Strand& strand : strands_) {
    if (strand.requests.empty()) continue;
    int count = 0;
    api_.Testsome(static_cast<int>(strand.requests.size()), strand.requests.data(), &count,
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
  return std::all_of(strands_.begin(), strands_.end(), [&](const Strand& strand) {
    return std::all_of(strand.requests.begin(), strand.requests.end(),
                       [&](MPI_Request request) { return request == api_.request_null; });
  });
}

bool MpiP2p::ended() {
  if (gave_up_) test_all();
  return all_ended();
}

}  // namespace alm::messages
