// For tests: programs on several ranks from MPI_Init to MPI_Finalize. The ranks are threads, each
// on a host of its own by the cluster file, with an address on loopback.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "communicator/communicator_test_ranks.h"
#include "session/session.h"

namespace alm::session {

// One rank of a job, as its program sees it.
struct FakeProcess {
  job::FakeMpiOps& ops;
  std::uint32_t rank;
  std::uint32_t ranks;
  std::vector<std::string> logged = {};  // warnings and errors
  std::unique_ptr<Session> session = nullptr;
  bool good = true;  // no call has failed, and every byte was right

  bool has_logged(std::string_view part) const {
    return std::any_of(logged.begin(), logged.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

  // MPI_Alltoall as the program sees it. After an error the job has ended for this rank, which is
  // what MPI's default error handler does.
  void alltoall(job::CommHandle comm, std::uint64_t bytes = 300) {
    if (!good) return;
    communicator::FakeBlocks blocks(ranks, rank, bytes);
    const courier::AlltoallCall call = blocks.call(ops, comm);
    const auto code = session->alltoall(call);
    end_call(code ? *code : call.native(), blocks);
  }
  // MPI_Alltoallv.
  void alltoall_blocks(job::CommHandle comm, std::uint64_t bytes = 300) {
    if (!good) return;
    communicator::FakeBlocks blocks(ranks, rank, bytes);
    const courier::BlockCall call = blocks.block_call(ops, comm);
    const auto code = session->alltoall_blocks(call);
    end_call(code ? *code : call.native(), blocks);
  }
  // MPI_Ialltoall and MPI_Wait. True: it was begun here, and not by the library.
  bool ialltoall(job::CommHandle comm, std::uint64_t bytes = 300) {
    if (!good) return false;
    communicator::FakeBlocks blocks(ranks, rank, bytes);
    const courier::AlltoallCall call = blocks.call(ops, comm);
    job::RequestHandle request = 0;
    const auto begun = session->start(call, request);
    return end_nonblocking(begun ? *begun : call.native(), begun.has_value(), request, blocks);
  }
  // MPI_Ialltoallv and MPI_Wait.
  bool ialltoall_blocks(job::CommHandle comm, std::uint64_t bytes = 300) {
    if (!good) return false;
    communicator::FakeBlocks blocks(ranks, rank, bytes);
    const courier::BlockCall call = blocks.block_call(ops, comm);
    job::RequestHandle request = 0;
    const auto begun = session->start_blocks(call, request);
    return end_nonblocking(begun ? *begun : call.native(), begun.has_value(), request, blocks);
  }

 private:
  bool end_nonblocking(int code, bool begun, job::RequestHandle request,
                       const communicator::FakeBlocks& blocks) {
    if (begun && code == job::kMpiSuccess) {
      code = ops.request(request)->wait().good() ? job::kMpiSuccess : job::kFakeRaised;
    }
    end_call(code, blocks);
    return begun;
  }
  void end_call(int code, const communicator::FakeBlocks& blocks) {
    good = code == job::kMpiSuccess && blocks.arrived();
    if (!good) ops.leave();
  }
};

using Program = std::function<void(FakeProcess& process)>;

class SessionTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 3;
  static constexpr job::CommHandle kWorld = job::FakeJob::kWorld;
  static constexpr job::CommHandle kOther = 5;  // a duplicate of MPI_COMM_WORLD

  // How a rank has ended.
  struct End {
    bool aborted = true, started = false, accelerating = false, good = false;
    std::vector<std::string> logged;
  };

  void SetUp() override {
    ::setenv("HOME", "/nonexistent", 1);
    ::unsetenv("XDG_CACHE_HOME");
    std::ofstream(path("cluster.toml")) << R"(
      format = 1
      name = "loopback"
      [[switch]]
      name = "s"
      [[host]]
      name = "h[0-2]"
      address = "127.0.0.[1-3]"
      [[link]]
      from = "h[0-2]"
      to = "s"
      rate_mbit_s = 10000
      queue_down_packets = 500
    )";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // By which way the first call of a job goes.
  struct First {
    bool good = true, alike = true, native = false;
    std::vector<std::string> logged;  // by rank 0
  };
  First first_call(job::FakeJob& job, std::uint64_t bytes = 300) {
    const auto ends = run(job, [&](FakeProcess& process) { process.alltoall(kWorld, bytes); });
    First first;
    first.native = job.calls(0)["native"] == 1;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      first.good = first.good && ends[rank].good;
      first.alike = first.alike && (job.calls(rank)["native"] == 1) == first.native;
    }
    first.logged = ends[0].logged;
    return first;
  }
  // What should make the library's way the first cannot be told to one rank, whichever and whenever
  // that is: all ranks go alike, and not always by the library.
  void expect_all_or_none(std::uint64_t bytes = 300) {
    job::FakeJob sound(kRanks);
    run(sound, [](FakeProcess&) {});
    int without = 0;
    for (int time = 1; time <= sound.calls(0)["allreduce_min"]; ++time) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        job::FakeJob job(kRanks);
        job.fail({rank, "allreduce_min", time});
        const First first = first_call(job, bytes);
        EXPECT_TRUE(first.good && first.alike) << time << " on rank " << rank;
        EXPECT_FALSE(job.hung());
        if (!first.native) ++without;
      }
    }
    EXPECT_GT(without, 0);
  }

  // The program on all ranks, between MPI_Init and MPI_Finalize.
  std::vector<End> run(job::FakeJob& job, const Program& program) {
    std::vector<End> ends(job.ranks());
    run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
      ops.provides_threads = provides_threads;
      FakeProcess process{ops, rank, job.ranks()};
      process.session = Session::start(ops, surroundings_of(process));
      End& end = ends[rank];
      end.started = true;
      end.accelerating = process.session->accelerating();
      program(process);
      end.good = process.good;
      process.session->finish();
      end.aborted = false;
      end.logged = process.logged;
    });
    return ends;
  }

  // Expects that either all ranks ran the program without an error, or none did.
  static void expect_alike(const std::vector<End>& ends, const std::string& what) {
    for (const End& end : ends) {
      EXPECT_EQ(end.accelerating, ends.front().accelerating) << what;
      EXPECT_EQ(end.good, ends.front().good) << what;
    }
  }

  // Makes every MPI call of the program fail, on each rank in turn, and expects that all ranks end
  // alike each time. Returns how many of the jobs ended with an error.
  int expect_alike_whatever_fails(const Program& program) {
    job::FakeJob sound(kRanks);
    for (const End& end : run(sound, program)) EXPECT_TRUE(end.good);
    int ended = 0;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (const auto& [name, times] : sound.calls(rank)) {
        for (int time = 1; time <= times; ++time) {
          job::FakeJob job(kRanks);
          job.fail({rank, name, time});
          const auto ends = run(job, program);
          const std::string what =
              name + " " + std::to_string(time) + " on rank " + std::to_string(rank);
          EXPECT_FALSE(job.hung()) << what;
          const bool aborted =
              std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.aborted; });
          if (!aborted) expect_alike(ends, what);
          if (aborted || !ends.front().good) ++ended;
        }
      }
    }
    return ended;
  }

  bool provides_threads = false;
  // For all ranks.
  std::vector<std::string> options = {"trials=off", "log=warning", "peer_timeout_s=20"};
  std::function<void(std::uint32_t rank, Surroundings& its)> configure;

 private:
  Surroundings surroundings_of(FakeProcess& process) const {
    Surroundings its;
    its.settings.host = "h" + std::to_string(process.rank);
    its.settings.options = options;
    its.settings.cluster_file = path("cluster.toml");
    auto mutex = std::make_shared<std::mutex>();
    its.settings.make_log = [&process, mutex](const std::string& who, const std::string& level) {
      return job::Log(who, level, [&process, mutex](job::LogLevel, std::string_view text) {
        const std::lock_guard lock(*mutex);
        process.logged.emplace_back(text);
      });
    };
    if (configure) configure(process.rank, its);
    return its;
  }

  std::string folder_ = [] {
    std::string made = testing::TempDir() + "sessionXXXXXX";
    return std::string(mkdtemp(made.data()));
  }();
};

}  // namespace alm::session
