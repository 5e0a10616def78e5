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

constexpr int kTag = 0;

// Ranks may share cores with others that compute: poll briefly, letting them run, then sleep a
// little.
constexpr int kEmptyPollsBeforeSleep = 200;
constexpr std::chrono::microseconds kSleep{50};

template <class Blocks>
std::uint64_t size_of(const Blocks& blocks, PeerId peer) {
  return blocks.size.empty() ? blocks.bytes : blocks.size[peer];
}

template <class Blocks>
auto* begin_of(const Blocks& blocks, PeerId peer) {
  return blocks.base +
         (blocks.displacement.empty() ? peer * blocks.stride : blocks.displacement[peer]);
}

}  // namespace

MpiP2p::MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options)
    : api_(api),
      comm_(comm),
      options_(options),
      requests_(2 * ranks, api.request_null),
      finished_(requests_.size()),
      received_(ranks) {}

int MpiP2p::run(const Exchange& exchange, std::uint32_t window_chunks) {
  window_ = std::clamp<std::size_t>(window_chunks, 1, received_.size());
  free_sends_.clear();
  for (std::size_t slot = 0; slot < window_; ++slot) free_sends_.push_back(received_.size() + slot);
  std::fill(received_.begin(), received_.end(), 0);
  for (const PeerId peer : exchange.rounds.recv) {
    if (const int code = post_receive(exchange, peer); code != MPI_SUCCESS) return code;
  }
  const std::size_t rounds =
      exchange.rounds.send_begin.empty() ? 0 : exchange.rounds.send_begin.size() - 1;
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
  return MPI_SUCCESS;
}

void MpiP2p::begin_round(const Exchange& exchange, std::size_t round) {
  const auto& rounds = exchange.rounds;
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
    const PeerId peer = exchange.rounds.recv[round_.recv_at];
    if (received_[peer] < size_of(exchange.recv, peer)) return false;
  }
  return true;
}

int MpiP2p::post_receive(const Exchange& exchange, PeerId peer) {
  const std::uint64_t size = size_of(exchange.recv, peer);
  const std::uint64_t offset = received_[peer];
  if (offset >= size) return MPI_SUCCESS;
  const auto bytes = static_cast<int>(std::min(options_.chunk_bytes, size - offset));
  return api_.Irecv(begin_of(exchange.recv, peer) + offset, bytes, api_.byte,
                    static_cast<int>(peer), kTag, comm_, &requests_[peer]);
}

// The next chunk in sending order; false when the round has no more.
bool MpiP2p::next_send(const Exchange& exchange, PeerId& peer, std::uint64_t& offset) {
  const auto left = [&](std::size_t partner) {
    return round_.chunk * options_.chunk_bytes <
           size_of(exchange.send, exchange.rounds.send[partner]);
  };
  const auto take = [&] {
    peer = exchange.rounds.send[round_.partner];
    offset = round_.chunk * options_.chunk_bytes;
  };
  if (!exchange.rounds.interleaved) {
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
    const auto bytes =
        static_cast<int>(std::min(options_.chunk_bytes, size_of(exchange.send, peer) - offset));
    const int code =
        api_.Isend(begin_of(exchange.send, peer) + offset, bytes, api_.byte, static_cast<int>(peer),
                   kTag, comm_, &requests_[free_sends_.back()]);
    if (code != MPI_SUCCESS) return code;
    free_sends_.pop_back();
    ++messages_sent_;
  }
  return MPI_SUCCESS;
}

int MpiP2p::collect(const Exchange& exchange, bool& any) {
  int count = 0;
  const int code = api_.Testsome(static_cast<int>(received_.size() + window_), requests_.data(),
                                 &count, finished_.data(), MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS || count == MPI_UNDEFINED) return code;
  any = count > 0;
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
    if (slot >= received_.size()) {
      free_sends_.push_back(slot);
      continue;
    }
    const auto peer = static_cast<PeerId>(slot);
    received_[peer] +=
        std::min(options_.chunk_bytes, size_of(exchange.recv, peer) - received_[peer]);
    if (const int posted = post_receive(exchange, peer); posted != MPI_SUCCESS) return posted;
  }
  return MPI_SUCCESS;
}

}  // namespace alm::io
