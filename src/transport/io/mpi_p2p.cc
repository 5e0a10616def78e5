#include "transport/io/mpi_p2p.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace alm::io {
namespace {

using transport::ConstBlocks;
using transport::Exchange;
using transport::MutableBlocks;
using transport::PeerId;

// Tags.
constexpr int kMore = 0;  // a chunk, and another will follow
constexpr int kLast = 1;
constexpr int kGivenUp = 2;  // nothing

// Ranks may share cores with others that compute: poll briefly, letting them run, then sleep a
// little.
constexpr int kEmptyPollsBeforeSleep = 200;
constexpr std::chrono::microseconds kSleep{50};
constexpr std::chrono::seconds kGivingUp{1};

int class_of(const MpiApi& api, int code) {
  int error_class = MPI_ERR_UNKNOWN;
  api.Error_class(code, &error_class);
  return error_class;
}

}  // namespace

MpiP2p::MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options)
    : api_(api),
      comm_(comm),
      options_(options),
      requests_(2 * ranks, api.request_null),
      finished_(requests_.size()),
      statuses_(requests_.size()),
      received_(ranks),
      complete_(ranks) {}

int MpiP2p::run(const Exchange& exchange, std::uint32_t window_chunks) {
  window_ = std::clamp<std::size_t>(window_chunks, 1, received_.size());
  free_sends_.clear();
  for (std::size_t slot = 0; slot < window_; ++slot) free_sends_.push_back(received_.size() + slot);
  std::fill(received_.begin(), received_.end(), 0);
  for (const PeerId peer : exchange.rounds->recv) {
    complete_[peer] = exchange.recv.size_of(peer) == 0;
    if (const int code = post_receive(exchange, peer); code != MPI_SUCCESS) return code;
  }
  const std::size_t rounds = exchange.rounds->count();
  int empty_polls = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    begin_round(exchange, round);
    while (true) {
      if (const int code = post_sends(exchange); code != MPI_SUCCESS) return code;
      if (round_complete(exchange)) break;
      bool any = false;
      if (const int code = collect(exchange, any); code != MPI_SUCCESS) return code;
      empty_polls = any ? 0 : empty_polls + 1;
      if (empty_polls > kEmptyPollsBeforeSleep) {
        std::this_thread::sleep_for(kSleep);
      } else if (!any) {
        std::this_thread::yield();
      }
    }
  }
  return trouble_ ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void MpiP2p::begin_round(const Exchange& exchange, std::size_t round) {
  const auto& rounds = *exchange.rounds;
  round_ = {.send_at = rounds.send_begin[round],
            .send_end = rounds.send_begin[round + 1],
            .recv_at = rounds.recv_begin[round],
            .recv_end = rounds.recv_begin[round + 1],
            .partner = rounds.send_begin[round],
            .chunk = 0,
            .sends_posted = rounds.send_begin[round] == rounds.send_begin[round + 1]};
}

bool MpiP2p::round_complete(const Exchange& exchange) {
  if (!round_.sends_posted || free_sends_.size() != window_) return false;
  for (; round_.recv_at < round_.recv_end; ++round_.recv_at) {
    const PeerId peer = exchange.rounds->recv[round_.recv_at];
    if (!complete_[peer]) return false;
  }
  return true;
}

int MpiP2p::post_receive(const Exchange& exchange, PeerId peer) {
  if (complete_[peer]) return MPI_SUCCESS;
  const std::uint64_t size = exchange.recv.size_of(peer);
  const std::uint64_t offset = received_[peer];
  const bool beyond = offset >= size;  // the sender has more than is expected
  if (beyond) beyond_.resize(options_.chunk_bytes);
  const std::uint64_t room = beyond ? beyond_.size() : size - offset;
  return api_.Irecv(beyond ? beyond_.data() : exchange.recv.at(peer) + offset,
                    static_cast<int>(std::min(options_.chunk_bytes, room)), api_.byte,
                    static_cast<int>(peer), MPI_ANY_TAG, comm_, &requests_[peer]);
}

// The next chunk in sending order; false when the round has no more.
bool MpiP2p::next_send(const Exchange& exchange, PeerId& peer, std::uint64_t& offset) {
  const auto left = [&](std::size_t partner) {
    return round_.chunk * options_.chunk_bytes <
           exchange.send.size_of(exchange.rounds->send[partner]);
  };
  const auto take = [&] {
    peer = exchange.rounds->send[round_.partner];
    offset = round_.chunk * options_.chunk_bytes;
  };
  if (!exchange.rounds->interleaved) {
    for (; round_.partner < round_.send_end; ++round_.partner, round_.chunk = 0) {
      if (!left(round_.partner)) continue;
      take();
      ++round_.chunk;
      return true;
    }
    return false;
  }
  bool any = true;
  while (any) {
    any = round_.partner > round_.send_at;  // a pass begun midway says nothing about its beginning
    for (; round_.partner < round_.send_end; ++round_.partner) {
      if (!left(round_.partner)) continue;
      take();
      ++round_.partner;
      return true;
    }
    round_.partner = round_.send_at;
    ++round_.chunk;
  }
  return false;
}

int MpiP2p::post_sends(const Exchange& exchange) {
  while (!round_.sends_posted && !free_sends_.empty()) {
    PeerId peer = 0;
    std::uint64_t offset = 0;
    if (!next_send(exchange, peer, offset)) {
      round_.sends_posted = true;
      break;
    }
    const std::uint64_t left = exchange.send.size_of(peer) - offset;
    const auto bytes = static_cast<int>(std::min(options_.chunk_bytes, left));
    const int tag = left > options_.chunk_bytes ? kMore : kLast;
    const int code = api_.Isend(exchange.send.at(peer) + offset, bytes, api_.byte,
                                static_cast<int>(peer), tag, comm_, &requests_[free_sends_.back()]);
    if (code != MPI_SUCCESS) return code;
    free_sends_.pop_back();
    ++messages_sent_;
  }
  return MPI_SUCCESS;
}

int MpiP2p::collect(const Exchange& exchange, bool& any) {
  int count = 0;
  const int code = api_.Testsome(static_cast<int>(received_.size() + window_), requests_.data(),
                                 &count, finished_.data(), statuses_.data());
  const bool in_status = code != MPI_SUCCESS && class_of(api_, code) == MPI_ERR_IN_STATUS;
  if ((code != MPI_SUCCESS && !in_status) || count == MPI_UNDEFINED) return code;
  any = count > 0;
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (slot >= received_.size()) {
      if (in_status && status.MPI_ERROR != MPI_SUCCESS) return status.MPI_ERROR;
      free_sends_.push_back(slot);
      continue;
    }
    const auto peer = static_cast<PeerId>(slot);
    if (const int taken = take(exchange, peer, status, in_status); taken != MPI_SUCCESS) {
      return taken;
    }
    if (const int posted = post_receive(exchange, peer); posted != MPI_SUCCESS) return posted;
  }
  return MPI_SUCCESS;
}

// A chunk has come. `in_status`: its MPI_ERROR says something.
int MpiP2p::take(const Exchange& exchange, PeerId peer, const MPI_Status& status, bool in_status) {
  const std::uint64_t expected = exchange.recv.size_of(peer);
  const bool longer = in_status && status.MPI_ERROR != MPI_SUCCESS;
  if (longer && class_of(api_, status.MPI_ERROR) != MPI_ERR_TRUNCATE) return status.MPI_ERROR;
  if (status.MPI_TAG == kGivenUp) {
    trouble_ = {.peer = peer, .gave_up = true, .expected = expected, .sent = {}};
    return MPI_ERR_TRUNCATE;
  }
  int bytes = static_cast<int>(options_.chunk_bytes);
  if (!longer) {
    const int code = api_.Get_count(&status, api_.byte, &bytes);
    if (code != MPI_SUCCESS) return code;
  }
  received_[peer] += static_cast<std::uint64_t>(bytes);
  if (status.MPI_TAG == kMore) return MPI_SUCCESS;
  complete_[peer] = true;
  if (longer) {
    trouble_ = {.peer = peer, .gave_up = false, .expected = expected, .sent = {}};
  } else if (received_[peer] != expected) {
    trouble_ = {.peer = peer, .gave_up = false, .expected = expected, .sent = received_[peer]};
  }
  return MPI_SUCCESS;
}

void MpiP2p::give_up(PeerId self) {
  for (PeerId peer = 0; peer < received_.size(); ++peer) {
    if (peer == self) continue;
    MPI_Request told = api_.request_null;
    if (api_.Isend(nullptr, 0, api_.byte, static_cast<int>(peer), kGivenUp, comm_, &told) ==
        MPI_SUCCESS) {
      api_.Request_free(&told);
    }
  }
  for (std::size_t peer = 0; peer < received_.size(); ++peer) {
    if (requests_[peer] != api_.request_null) api_.Cancel(&requests_[peer]);
  }
  // The caller's buffers are his own again once nothing is under way. What was sent to somebody who
  // has given up may stay so; it is not looked at then.
  const auto until = std::chrono::steady_clock::now() + kGivingUp;
  while (std::chrono::steady_clock::now() < until) {
    int count = 0;
    api_.Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, finished_.data(),
                  statuses_.data());
    if (count == MPI_UNDEFINED) return;
    std::this_thread::sleep_for(kSleep);
  }
}

}  // namespace alm::io
