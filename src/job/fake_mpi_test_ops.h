// For tests: the ranks of a job as threads of one process, and an MPI library that is none. Any
// call can be made to fail on one rank.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "job/fake_mpi_test_requests.h"
#include "job/ops.h"

namespace alm::job {

constexpr int kFakeError = 17;     // a call that was made to fail
constexpr int kFakeDeserted = 18;  // a collective to which not every rank has come
constexpr int kFakeRaised = 19;    // what raise() returns

// Thrown by abort(): the job ends.
struct Aborted : std::runtime_error {
  Aborted() : std::runtime_error("aborted") {}
};

// The state that the ranks share.
class FakeJob {
 public:
  static constexpr CommHandle kWorld = 1;

  explicit FakeJob(std::uint32_t ranks) : ranks_(ranks), left_(ranks, false) {}

  void aborted() { ++aborted_; }  // by a rank that has called abort
  std::uint32_t ranks() const { return ranks_; }

  // The call of this name fails on this rank at its n-th time, counted from 1. A collective that
  // fails has taken part: the other ranks do not notice.
  struct Fault {
    std::uint32_t rank = 0;
    std::string call;
    int occurrence = 1;
    bool throws = false;  // std::bad_alloc, in place of an error code
  };
  void fail(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }
  // Notes a call, which is to fail if this is true.
  bool counts(std::uint32_t rank, const std::string& call) { return fails(rank, call); }
  // How often the rank has made each call.
  std::map<std::string, int> calls(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    return calls_[rank];
  }
  // Communicators that are intercommunicators, or have ranks of other jobs.
  std::set<CommHandle> intercommunicators, of_other_jobs;
  std::vector<Neighbours> neighbours;  // [rank], on every communicator

  // A rank was left waiting for longer than any collective takes.
  bool hung() const { return hung_; }

 private:
  friend class FakeMpiOps;
  friend class FakeMessages;

  static constexpr std::chrono::seconds kPatience{20};

  // One collective under way on one communicator.
  struct Meeting {
    std::map<std::uint32_t, std::vector<std::byte>> brought;
    std::vector<std::byte> all;
    bool complete = false;
    bool broken = false;
  };

  bool fails(std::uint32_t rank, const std::string& call) {
    const std::lock_guard lock(mutex_);
    const int time = ++calls_[rank][call];
    const bool fails =
        fault_ && fault_->rank == rank && fault_->call == call && fault_->occurrence == time;
    if (fails && fault_->throws) throw std::bad_alloc();
    return fails;
  }

  // All ranks' bytes, in order; false: not every rank has come.
  bool meet(CommHandle comm, std::uint32_t rank, std::span<const std::byte> mine,
            std::vector<std::byte>& all) {
    std::unique_lock lock(mutex_);
    const int turn = turns_[{comm, rank}]++;
    Meeting& meeting = meetings_[{comm, turn}];
    meeting.brought[rank].assign(mine.begin(), mine.end());
    if (meeting.brought.size() == ranks_) {
      for (const auto& [from, bytes] : meeting.brought) {
        if (bytes.size() != mine.size()) meeting.broken = true;  // they are not in the same call
        meeting.all.insert(meeting.all.end(), bytes.begin(), bytes.end());
      }
      meeting.complete = true;
      changed_.notify_all();
    }
    const bool ended = changed_.wait_for(lock, kPatience, [&] {
      if (meeting.complete || meeting.broken) return true;
      for (std::uint32_t other = 0; other < ranks_; ++other) {
        if (left_[other] && meeting.brought.count(other) == 0) return true;
      }
      return false;
    });
    if (!ended) hung_ = true;
    if (!meeting.complete || meeting.broken) {
      meeting.broken = true;
      changed_.notify_all();
      return false;
    }
    all = meeting.all;
    return true;
  }

  void leave(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    left_[rank] = true;
    changed_.notify_all();
  }

  std::uint32_t ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> left_;
  std::map<std::pair<CommHandle, std::uint32_t>, int> turns_;
  std::map<std::pair<CommHandle, int>, Meeting> meetings_;
  std::map<std::uint32_t, std::map<std::string, int>> calls_;
  std::optional<Fault> fault_;
  std::atomic<bool> hung_{false};
  std::atomic<std::uint32_t> aborted_{0};

  // Messages: [communicator, from, to], in the order in which they were sent.
  std::map<std::tuple<CommHandle, std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>>
      mail_;
  std::set<std::uint32_t> given_up_;
};

// Messages through the memory of the process.
class FakeMessages final : public carrier::PointToPoint {
 public:
  FakeMessages(FakeJob& job, CommHandle comm, std::uint32_t self, RankName name)
      : job_(job), comm_(comm), self_(self), name_(std::move(name)) {}

  // Everything that may leave is sent at once; await() receives strand after strand.
  base::Status start(std::size_t strand, const transport::Exchange& exchange,
                     const messages::MessageFlow&) override {
    Strand& begun = strands_[strand];
    begun.exchange = exchange;
    begun.received = 0;
    for (const std::uint32_t to : exchange.rounds->send) {
      if (exchange.withheld.empty() || exchange.withheld[to] == 0) send(exchange, to);
    }
    return {};
  }
  void make_ready(std::size_t strand, base::PeerId peer) override {
    send(strands_[strand].exchange, peer);
  }
  base::Result<Event> await(std::span<const std::size_t> strands) override {
    for (std::size_t index = 0; index < strands.size(); ++index) {
      const auto found = strands_.find(strands[index]);
      if (found == strands_.end()) continue;
      Strand& strand = found->second;
      const transport::Exchange& exchange = strand.exchange;
      while (strand.received < exchange.rounds->recv.size()) {
        const std::uint32_t from = exchange.rounds->recv[strand.received++];
        if (auto received = receive(exchange, from); !received) return received.error();
        if (exchange.reports_arrivals && exchange.recv.size_of(from) > 0) {
          return Event{index, from};
        }
      }
      strands_.erase(found);
      return Event{index, std::nullopt};
    }
    return base::bad_input("no exchange is under way");
  }
  bool ended() override { return true; }
  void keep(std::shared_ptr<const void>) override {}
  void give_up() override {
    const std::lock_guard lock(job_.mutex_);
    job_.given_up_.insert(self_);
    job_.changed_.notify_all();
  }
  std::uint64_t messages_sent() const override { return sent_; }

 private:
  void send(const transport::Exchange& exchange, std::uint32_t to) {
    const std::byte* block = exchange.send.at(to);
    const std::lock_guard lock(job_.mutex_);
    job_.mail_[{comm_, self_, to}].emplace_back(block, block + exchange.send.size_of(to));
    job_.changed_.notify_all();
    ++sent_;
  }

  base::Status receive(const transport::Exchange& exchange, std::uint32_t from) {
    std::unique_lock lock(job_.mutex_);
    auto& mail = job_.mail_[{comm_, from, self_}];
    const bool ended = job_.changed_.wait_for(lock, FakeJob::kPatience, [&] {
      return !mail.empty() || job_.given_up_.count(from) != 0 || job_.left_[from];
    });
    if (!ended) job_.hung_ = true;
    if (mail.empty()) {
      return base::Error{base::ErrorCode::kPeerLost, name_(from) + " has given up"};
    }
    const std::vector<std::byte> block = std::move(mail.front());
    mail.pop_front();
    if (block.size() != exchange.recv.size_of(from)) {
      return base::bad_input(name_(from) + " sends another size");
    }
    std::copy(block.begin(), block.end(), exchange.recv.at(from));
    return {};
  }

  struct Strand {
    transport::Exchange exchange;
    std::size_t received = 0;  // messages, in the order of the rounds
  };

  FakeJob& job_;
  CommHandle comm_;
  std::uint32_t self_;
  RankName name_;
  std::map<std::size_t, Strand> strands_;  // under way
  std::uint64_t sent_ = 0;
};

// An algorithm that the library was told to take: the same exchange.
class FakeTold final : public ToldLibrary {
 public:
  FakeTold(FakeJob& job, std::uint32_t rank, CommHandle comm, tuning::LibraryAlgorithm algorithm)
      : job_(job), rank_(rank), comm_(comm), name_(tuning::name_of(algorithm)) {}
  int run(const std::function<int(CommHandle on)>& exchange) override {
    return job_.counts(rank_, "told " + name_) ? kFakeError : exchange(comm_);
  }

 private:
  FakeJob& job_;
  std::uint32_t rank_;
  CommHandle comm_;
  std::string name_;
};

// The MPI of one rank. Type 0 is bytes that lie back to back; all others are packed and unpacked
// byte by byte, in the same order.
class FakeMpiOps final : public MpiOps, public LibraryAlgorithms {
 public:
  FakeMpiOps(FakeJob& job, std::uint32_t rank) : job_(job), rank_(rank) { algorithms_ = this; }
  ~FakeMpiOps() override { leave(); }

  // The rank's process has ended: collectives that wait for it fail.
  void leave() { job_.leave(rank_); }
  // The texts of all raise() calls.
  const std::vector<std::string>& raised() const { return raised_; }
  std::shared_ptr<FakeRequest::State> request(RequestHandle handle) {
    for (const auto& one : requests_) {
      if (reinterpret_cast<RequestHandle>(one.get()) == handle) return one;
    }
    return nullptr;
  }
  FakePersistent& persistent(RequestHandle handle) {
    return *reinterpret_cast<FakePersistent*>(handle);
  }
  bool provides_threads = false;
  tuning::AlgorithmSet may_be_told;
  tuning::AlgorithmSet known() override { return may_be_told; }
  base::Result<std::unique_ptr<ToldLibrary>> tell(CommHandle comm,
                                                  tuning::LibraryAlgorithm algorithm) override {
    if (job_.fails(rank_, "tell")) return base::io_error("the library is told nothing");
    return std::unique_ptr<ToldLibrary>(std::make_unique<FakeTold>(job_, rank_, comm, algorithm));
  }

  // The library's own MPI_Alltoall, for bytes.
  int native_alltoall(CommHandle comm, const std::byte* send, std::byte* recv,
                      std::uint64_t bytes) {
    if (job_.fails(rank_, "native")) return kFakeError;
    std::vector<std::byte> all;
    if (!job_.meet(comm, rank_, {send, bytes * job_.ranks()}, all)) return kFakeDeserted;
    for (std::uint32_t from = 0; from < job_.ranks(); ++from) {
      std::memcpy(recv + from * bytes, all.data() + (from * job_.ranks() + rank_) * bytes, bytes);
    }
    return kMpiSuccess;
  }

  std::string library() const override { return "Fake MPI 1"; }
  CommHandle world() const override { return FakeJob::kWorld; }
  int comm_size(CommHandle, int& size) const override {
    size = static_cast<int>(job_.ranks());
    return job_.fails(rank_, "comm_size") ? kFakeError : kMpiSuccess;
  }
  int comm_rank(CommHandle, int& rank) const override {
    rank = static_cast<int>(rank_);
    return job_.fails(rank_, "comm_rank") ? kFakeError : kMpiSuccess;
  }
  int is_intercommunicator(CommHandle comm, bool& inter) const override {
    inter = job_.intercommunicators.count(comm) != 0;
    return job_.fails(rank_, "is_intercommunicator") ? kFakeError : kMpiSuccess;
  }
  int is_within_world(CommHandle comm, bool& within) const override {
    within = job_.of_other_jobs.count(comm) == 0;
    return job_.fails(rank_, "is_within_world") ? kFakeError : kMpiSuccess;
  }
  int allgather(CommHandle comm, std::span<const std::byte> bytes,
                std::span<std::byte> all) override {
    return gather("allgather", comm, bytes, all);
  }
  int alltoall(CommHandle comm, std::span<const std::uint64_t> out,
               std::span<std::uint64_t> in) override {
    std::vector<std::uint64_t> all(out.size() * job_.ranks());
    const int code = gather("alltoall", comm, std::as_bytes(out),
                            std::as_writable_bytes(std::span<std::uint64_t>(all)));
    for (std::uint32_t from = 0; from < job_.ranks(); ++from) {
      if (code == kMpiSuccess) in[from] = all[from * job_.ranks() + rank_];
    }
    return code;
  }
  int allreduce_min(CommHandle comm, std::span<std::uint64_t> values) override {
    std::vector<std::uint64_t> all(values.size() * job_.ranks());
    const int code = gather("allreduce_min", comm, std::as_bytes(values),
                            std::as_writable_bytes(std::span<std::uint64_t>(all)));
    for (std::size_t i = 0; code == kMpiSuccess && i < all.size(); ++i) {
      auto& least = values[i % values.size()];
      least = std::min(least, all[i]);
    }
    return code;
  }
  using MpiOps::allreduce_min;
  base::Status barrier(CommHandle comm, base::Nanos, const std::function<void()>& = {}) override {
    if (gather("barrier", comm, {}, {}) == kMpiSuccess) return {};
    return base::Error{base::ErrorCode::kTimeout, "not every rank has come"};
  }
  [[noreturn]] void abort(CommHandle, int) override {
    leave();
    throw Aborted();
  }
  int set_state(CommHandle comm, void* state) override {
    if (job_.fails(rank_, "set_state")) return kFakeError;
    states_[comm] = state;
    return kMpiSuccess;
  }
  void* state(CommHandle comm) override {
    const auto found = states_.find(comm);
    return found == states_.end() ? nullptr : found->second;
  }
  // The program frees the communicator. Returns its state.
  void* free(CommHandle comm) {
    void* const freed = state(comm);
    states_.erase(comm);
    return freed;
  }
  void progress() override {}
  bool is_contiguous(const TypedBuffer& buffer) override { return buffer.type == 0; }
  int pack(const TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) override {
    if (job_.fails(rank_, "pack")) return kFakeError;
    std::memcpy(out, buffer.base, buffer.bytes() * ranks);
    return kMpiSuccess;
  }
  int unpack(const std::byte* in, std::uint32_t ranks, const TypedBuffer& buffer) override {
    if (job_.fails(rank_, "unpack")) return kFakeError;
    std::memcpy(buffer.base, in, buffer.bytes() * ranks);
    return kMpiSuccess;
  }
  bool has_topology(CommHandle) override { return !job_.neighbours.empty(); }
  int neighbours(CommHandle, Neighbours& found) override {
    if (job_.fails(rank_, "neighbours")) return kFakeError;
    found = job_.neighbours.at(rank_);
    return kMpiSuccess;
  }
  bool hold_type(TypedBuffer&) override { return false; }
  void release_type(TypeHandle) override {}
  bool threads() const override { return provides_threads; }
  base::Result<std::unique_ptr<PendingRequest>> make_request(
      CommHandle, std::shared_ptr<const CommLife>) override {
    if (job_.fails(rank_, "make_request")) return base::io_error("MPI_Grequest_start failed");
    auto made = std::make_unique<FakeRequest>();
    requests_.push_back(made->state());
    return std::unique_ptr<PendingRequest>(std::move(made));
  }
  base::Result<std::shared_ptr<PersistentRequest>> make_persistent(
      CommHandle, std::shared_ptr<const CommLife>, std::function<void()> on_start) override {
    if (job_.fails(rank_, "make_persistent")) return base::io_error("MPI_Ssend_init failed");
    auto made = std::make_shared<FakePersistent>(std::move(on_start));
    persistent_.push_back(made);
    return std::shared_ptr<PersistentRequest>(std::move(made));
  }
  base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(CommHandle comm,
                                                                           RankName name,
                                                                           double) override {
    // It splits the communicator, on which all ranks come together.
    if (gather("make_point_to_point", comm, {}, {}) != kMpiSuccess) {
      return base::io_error("MPI_Comm_split failed");
    }
    return std::unique_ptr<carrier::PointToPoint>(
        std::make_unique<FakeMessages>(job_, comm, rank_, std::move(name)));
  }
  int raise(CommHandle, const base::Error& error) override {
    raised_.push_back(error.message);
    return kFakeRaised;
  }
  int error_code(const base::Error&) override { return kFakeRaised; }
  int raise_code(CommHandle, int code) override { return code; }
  void close() override {}

 private:
  int gather(const char* name, CommHandle comm, std::span<const std::byte> mine,
             std::span<std::byte> all) {
    const bool fails = job_.fails(rank_, name);
    std::vector<std::byte> gathered;
    if (!job_.meet(comm, rank_, mine, gathered)) return kFakeDeserted;
    if (fails) return kFakeError;
    std::copy(gathered.begin(), gathered.end(), all.begin());
    return kMpiSuccess;
  }

  FakeJob& job_;
  std::uint32_t rank_;
  std::map<CommHandle, void*> states_;
  std::vector<std::string> raised_;
  std::vector<std::shared_ptr<FakeRequest::State>> requests_;
  std::vector<std::shared_ptr<FakePersistent>> persistent_;
};

// Runs `body` on every rank, in threads; a rank that has ended has left the job.
inline void run_ranks(FakeJob& job,
                      const std::function<void(FakeMpiOps& ops, std::uint32_t rank)>& body) {
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
    threads.emplace_back([&job, &body, rank] {
      FakeMpiOps ops(job, rank);
      try {
        body(ops, rank);
      } catch (const Aborted&) {
        job.aborted();  // the others find that this rank has left
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace alm::job
