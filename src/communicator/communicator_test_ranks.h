// For tests: jobs of ranks in threads whose communicators exchange over loopback, or by messages
// through memory. Each rank has a host of its own, unless the test says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "communicator/communicator.h"
#include "courier/calls.h"
#include "job/fake_mpi_test_ops.h"
#include "job/job.h"

namespace alm::communicator {

constexpr std::uint32_t kRanks = 3;  // of a job, where any number would do

// One rank: its MPI, its job, and what it logs.
struct FakeRank {
  FakeRank(job::FakeMpiOps& mpi, std::uint32_t number, std::uint32_t ranks,
           std::uint32_t ranks_per_host)
      : ops(mpi), rank(number), job(mpi) {
    job.rank = rank;
    job.host = "h" + std::to_string(rank / ranks_per_host);
    job.options = base::load_options({}).value();
    job.options.trials = false;
    job.options.hello_timeout_ms = 2000;
    job.options.peer_timeout_s = 20;
    job.log = job::Log("", "info", [this](job::LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex);
      logged.emplace_back(text);
    });
    // To the job all ranks are on this host, so that its sockets are on loopback; to the
    // communicator each says where it is itself.
    job.records.resize(ranks);
    for (job::JobRecord& record : job.records) job::set_host(record.host, job.host);
  }

  bool has_logged(std::string_view part) {
    const std::lock_guard lock(mutex);
    for (const std::string& line : logged) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

  job::FakeMpiOps& ops;
  std::uint32_t rank;
  std::mutex mutex;
  std::vector<std::string> logged;
  job::Job job;
};

inline void run_fake_ranks(job::FakeJob& job, const std::function<void(FakeRank& rank)>& body,
                           std::uint32_t ranks_per_host = 1) {
  job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t number) {
    FakeRank rank(ops, number, job.ranks(), ranks_per_host);
    body(rank);
  });
}

// Blocks that tell where they come from and where they belong.
struct FakeBlocks {
  FakeBlocks(std::uint32_t ranks, std::uint32_t self, std::uint64_t size)
      : ranks_(ranks), self_(self), bytes(size), send(ranks * size), recv(ranks * size) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint64_t at = 0; at < size; ++at) send[to * size + at] = pattern(self, to, at);
    }
  }
  bool arrived() const {
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      for (std::uint64_t at = 0; at < bytes; ++at) {
        if (recv[from * bytes + at] != pattern(from, self_, at)) return false;
      }
    }
    return true;
  }
  courier::AlltoallCall call(job::FakeMpiOps& ops, job::CommHandle comm, job::TypeHandle type = 0) {
    courier::AlltoallCall made;
    made.comm = comm;
    made.send = {send.data(), static_cast<std::int64_t>(bytes), type, 1, 1};
    made.recv = {recv.data(), static_cast<std::int64_t>(bytes), type, 1, 1};
    made.native_on = [this, &ops](job::CommHandle on) {
      return ops.native_alltoall(on, send.data(), recv.data(), bytes);
    };
    made.native = [native = made.native_on, comm] { return native(comm); };
    return made;
  }
  // The same blocks as those of an MPI_Alltoallv; what it refers to is kept here.
  courier::BlockCall block_call(job::FakeMpiOps& ops, job::CommHandle comm,
                                job::TypeHandle type = 0) {
    out.clear();
    in.clear();
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      out.push_back({send.data() + rank * bytes, static_cast<std::int64_t>(bytes), type, 1, 1});
      in.push_back({recv.data() + rank * bytes, static_cast<std::int64_t>(bytes), type, 1, 1});
    }
    courier::BlockCall made;
    made.name = "MPI_Alltoallv";
    made.comm = comm;
    made.send = out;
    made.recv = in;
    made.native = call(ops, comm).native;
    return made;
  }
  void clear() { std::fill(recv.begin(), recv.end(), std::byte{0}); }

 private:
  static std::byte pattern(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
    return static_cast<std::byte>(from * 31 + to * 7 + at + 1);
  }
  std::uint32_t ranks_, self_;

 public:
  std::uint64_t bytes;
  std::vector<std::byte> send, recv;
  std::vector<job::TypedBuffer> out, in;
};

}  // namespace alm::communicator
