#include "capi/exchange.h"

#include <allemande/allemande.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "job/job_setup.h"
#include "job/settings.h"

namespace alm::capi {
namespace {

constexpr base::Nanos kSettleMax = 10 * base::kSecond;
// The last acknowledgement may be lost as well: a peer asks again within a few milliseconds.
constexpr base::Nanos kLinger = 20 * base::kMillisecond;

// Travels first: who is where, and whether everybody means the same exchange.
struct Introduction {
  job::JobRecord job;
  std::uint32_t ranks = 0, self = 0;
};

int code_of(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kBadInput:
      return ALM_ERROR_MISMATCH;
    case base::ErrorCode::kPeerLost:
    case base::ErrorCode::kTimeout:
      return ALM_ERROR_PEER_LOST;
    case base::ErrorCode::kIo:
    case base::ErrorCode::kUnsupported:
      return ALM_ERROR_SYSTEM;
  }
  return ALM_ERROR_SYSTEM;
}

// Where nothing is to be moved the base may be null and the displacement anything.
job::TypedBuffer buffer_of(std::byte* base, const Block& block) {
  return {block.bytes > 0 ? base + block.at : base, static_cast<std::int64_t>(block.bytes), 0, 1,
          1};
}

}  // namespace

Exchange::Exchange(Settings settings)
    : settings_(std::move(settings)),
      bootstrap_(settings_.ranks, settings_.self, settings_.allgather, settings_.progress),
      job_(bootstrap_) {
  job_.rank = settings_.self;
}

// A rank may still miss what this one has sent last.
Exchange::~Exchange() {
  if (!communicator_) return;
  if (ready_ && !communicator_->failure().happened()) {
    if (const auto driver = job_.driver()) {
      const double times = job_.options.time_scale;
      const auto patience =
          std::min(base::slowed(kSettleMax, times), job::peer_timeout(job_.options));
      driver.value()->settle(io::monotonic_now() + patience, [this] { bootstrap_.progress(); });
      std::this_thread::sleep_for(std::chrono::nanoseconds(base::slowed(kLinger, times)));
    }
  }
  communicator_->close();
  job_.close_driver();
}

int Exchange::fail(int code, std::string message) {
  error_ = std::move(message);
  return code;
}

int Exchange::open() {
  job::JobRecord record;
  const std::string wrong_here = configure(record);
  if (const int code = compare(record, wrong_here); code != ALM_OK) return code;
  if (const int code = check_switches(); code != ALM_OK) return code;
  if (settings_.ranks > 1) {
    job_.choose_network(AllgatherBootstrap::kComm);
    communicator_ = communicator::Communicator::create(job_, AllgatherBootstrap::kComm,
                                                       settings_.ranks, settings_.self);
    if (bootstrap_.failure() != 0) {
      return fail(ALM_ERROR_BOOTSTRAP, fmt::format("allgather returned {}", bootstrap_.failure()));
    }
    if (!communicator_->obstacle().empty()) {
      return fail(ALM_ERROR_UNAVAILABLE, communicator_->obstacle());
    }
  }
  ready_ = true;
  return ALM_OK;
}

// Errors are returned to the program, which has the last word on them.
job::Log Exchange::make_log(const std::string& who, const std::string& level) const {
  const job::Log standard_error(who, level);
  return {who, level, [this, standard_error](job::LogLevel severity, std::string_view text) {
            if (severity == job::LogLevel::kError) return;
            const bool warning = severity == job::LogLevel::kWarning;
            if (settings_.log) {
              settings_.log(warning ? ALM_LOG_WARNING : ALM_LOG_INFO, std::string(text));
            } else if (warning) {
              standard_error.warning(text);
            } else {
              standard_error.info(text);
            }
          }};
}

std::string Exchange::configure(job::JobRecord& record) {
  job::JobSettings settings;
  settings.host = settings_.host;
  settings.options = settings_.options;
  settings.cluster_file = settings_.cluster_file;
  settings.make_log = [this](const std::string& who, const std::string& level) {
    return make_log(who, level);
  };
  if (const auto done = job::set_up(job_, record, settings); !done) return done.error().message;
  if (job_.options.transport == "mpi") {
    record.usable = 0;
    return "the option transport is `mpi`, and there is no MPI library here: expected auto or udp";
  }
  // There is nothing to compare with, and nothing to fall back to.
  job_.options.transport = "udp";
  job_.options.trials = false;
  return {};
}

int Exchange::compare(const job::JobRecord& mine, const std::string& wrong_here) {
  std::vector<Introduction> all(settings_.ranks);
  const Introduction introduction{mine, settings_.ranks, settings_.self};
  if (settings_.ranks == 1) {
    all.front() = introduction;
  } else if (bootstrap_.allgather(AllgatherBootstrap::kComm,
                                  std::as_bytes(std::span(&introduction, 1)),
                                  std::as_writable_bytes(std::span(all))) != job::kMpiSuccess) {
    return fail(ALM_ERROR_BOOTSTRAP, fmt::format("allgather returned {}", bootstrap_.failure()));
  }
  for (std::uint32_t rank = 0; rank < settings_.ranks; ++rank) {
    job_.records.push_back(all[rank].job);
    if (all[rank].job.layout != job::JobRecord{}.layout) continue;  // of another build
    if (all[rank].ranks == settings_.ranks && all[rank].self == rank) continue;
    return fail(ALM_ERROR_BOOTSTRAP,
                fmt::format("place {} of the allgather holds the contribution of rank {} of {}; "
                            "expected rank {} of {}",
                            rank, all[rank].self, all[rank].ranks, rank, settings_.ranks));
  }
  if (all[settings_.self].job.layout != mine.layout) {
    return fail(ALM_ERROR_BOOTSTRAP,
                fmt::format("place {} of the allgather does not hold what rank {} has contributed",
                            settings_.self, settings_.self));
  }
  job_.agreement = job::agree(job_.records);
  const std::string& who = job_.agreement.ranks;
  switch (job_.agreement.obstacle) {
    case job::Obstacle::kNone:
    case job::Obstacle::kOneHost:
      return ALM_OK;
    case job::Obstacle::kInvalidHere:
      if (!wrong_here.empty()) return fail(ALM_ERROR_CONFIG, wrong_here);
      return fail(ALM_ERROR_CONFIG, fmt::format("the configuration is not valid on {}", who));
    case job::Obstacle::kOtherBuild:
      return fail(ALM_ERROR_CONFIG,
                  fmt::format("another version of allemande runs on {}; install the same on all "
                              "hosts",
                              who));
    case job::Obstacle::kDifferent:
      return fail(ALM_ERROR_CONFIG,
                  fmt::format("options or cluster file differ on {} from those of the other ranks; "
                              "give every rank the same options, ALLEMANDE_ variables and contents "
                              "of the cluster file",
                              who));
  }
  return ALM_OK;
}

int Exchange::check_switches() {
  if (job_.options.disable) {
    return fail(ALM_ERROR_UNAVAILABLE, "allemande is switched off: the option disable is on");
  }
  if (job_.options.algorithm == "native") {
    return fail(ALM_ERROR_UNAVAILABLE,
                "allemande is switched off: the option algorithm is `native`, and there is no MPI "
                "library here");
  }
  return ALM_OK;
}

int Exchange::outcome(const char* name, std::optional<int> code) {
  if (code == job::kMpiSuccess) return ALM_OK;
  if (!code) return fail(ALM_ERROR_SYSTEM, fmt::format("{}: the exchange is closed", name));
  constexpr std::string_view kPrefix = "allemande: ";
  std::string text = bootstrap_.raised();
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return fail(code_of(communicator_->failure().error().code), std::move(text));
}

int Exchange::not_ready(const char* name) {
  return fail(
      ALM_ERROR_ARGUMENT,
      fmt::format("{}: the exchange could not be made; all it is good for is to be destroyed",
                  name));
}

int Exchange::check_block(const char* name, std::uint64_t bytes, std::uint32_t rank,
                          const char* side) {
  if (bytes <= ALM_BLOCK_BYTES_MAX) return ALM_OK;
  return fail(ALM_ERROR_ARGUMENT,
              fmt::format("{}: {} bytes {} rank {} are more than ALM_BLOCK_BYTES_MAX ({})", name,
                          bytes, side, rank, ALM_BLOCK_BYTES_MAX));
}

int Exchange::alltoall(const char* name, const std::byte* send, std::byte* recv,
                       std::uint64_t bytes) {
  if (!ready_) return not_ready(name);
  if (const int code = check_block(name, bytes, 0, "for"); code != ALM_OK) return code;
  if (bytes == 0) return ALM_OK;
  const Block whole{0, bytes * settings_.ranks};
  if (recv == nullptr) return fail(ALM_ERROR_ARGUMENT, fmt::format("{}: recv is NULL", name));
  if (send != nullptr) {
    const int code = check_overlap(name, send, {&whole, 1}, recv, {&whole, 1});
    if (code != ALM_OK) return code;
  }
  if (!communicator_) {
    if (send != nullptr) std::memcpy(recv, send, bytes);
    return ALM_OK;
  }
  courier::AlltoallCall call;
  call.name = name;
  call.comm = AllgatherBootstrap::kComm;
  call.in_place = send == nullptr;
  call.send = buffer_of(const_cast<std::byte*>(send), {0, bytes});  // which is only read
  call.recv = buffer_of(recv, {0, bytes});
  return outcome(name, communicator_->alltoall(call));
}

int Exchange::alltoallv(const char* name, const std::byte* send, std::span<const Block> send_blocks,
                        std::byte* recv, std::span<const Block> recv_blocks) {
  if (!ready_) return not_ready(name);
  const bool in_place = send == nullptr;
  const auto out = in_place ? recv_blocks : send_blocks;
  send_.resize(settings_.ranks);
  recv_.resize(settings_.ranks);
  for (std::uint32_t rank = 0; rank < settings_.ranks; ++rank) {
    if (const int code = check_block(name, out[rank].bytes, rank, "for"); code != ALM_OK) {
      return code;
    }
    if (const int code = check_block(name, recv_blocks[rank].bytes, rank, "from"); code != ALM_OK) {
      return code;
    }
    // The communicator only reads from what is sent.
    send_[rank] = buffer_of(in_place ? recv : const_cast<std::byte*>(send), out[rank]);
    recv_[rank] = buffer_of(recv, recv_blocks[rank]);
  }
  const auto& own = recv_blocks[settings_.self];
  if (out[settings_.self].bytes != own.bytes) {
    return fail(ALM_ERROR_ARGUMENT,
                fmt::format("{}: rank {} sends {} bytes to itself but expects {}", name,
                            settings_.self, out[settings_.self].bytes, own.bytes));
  }
  if (const int code = check_overlap(name, send, send_blocks, recv, recv_blocks); code != ALM_OK) {
    return code;
  }
  if (!communicator_) {
    if (!in_place && own.bytes > 0) {
      std::memcpy(recv + own.at, send + out[settings_.self].at, own.bytes);
    }
    return ALM_OK;
  }
  courier::BlockCall call;
  call.name = name;
  call.comm = AllgatherBootstrap::kComm;
  call.in_place = in_place;
  call.send = send_;
  call.recv = recv_;
  return outcome(name, communicator_->alltoall_blocks(call));
}

// What is received may overlap nothing else: it would be overwritten, or sent on.
int Exchange::check_overlap(const char* name, const std::byte* send,
                            std::span<const Block> send_blocks, std::byte* recv,
                            std::span<const Block> recv_blocks) {
  struct Range {
    std::uintptr_t begin, end;
    bool received;
    std::size_t rank;
  };
  std::vector<Range> ranges;
  const auto add = [&](const std::byte* base, std::span<const Block> blocks, bool received) {
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
      if (blocks[rank].bytes == 0) continue;
      const auto begin = reinterpret_cast<std::uintptr_t>(base) + blocks[rank].at;
      ranges.push_back({begin, begin + blocks[rank].bytes, received, rank});
    }
  };
  if (send != nullptr) add(send, send_blocks, false);
  add(recv, recv_blocks, true);
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  // The farthest reaching so far, of each side.
  std::array<const Range*, 2> reach{};
  const auto text = [&](const Range& range) {
    if (recv_blocks.size() == 1) return std::string(range.received ? "recv" : "send");
    return fmt::format("the block {} rank {}", range.received ? "from" : "for", range.rank);
  };
  for (const Range& range : ranges) {
    for (const Range* other : reach) {
      if (other == nullptr || other->end <= range.begin) continue;
      if (!other->received && !range.received) continue;
      return fail(ALM_ERROR_ARGUMENT,
                  fmt::format("{}: {} and {} overlap", name, text(*other), text(range)));
    }
    const Range*& mine = reach[range.received ? 1 : 0];
    if (mine == nullptr || mine->end < range.end) mine = &range;
  }
  return ALM_OK;
}

std::string Exchange::counters_json() {
  job::StatsRecord stats = job_.stats.record();
  if (communicator_) stats.channel += communicator_->traffic();
  if (job_.has_driver()) {
    const auto* driver = job_.driver().value();
    stats.endpoint = driver->endpoint_counters();
    stats.rejected_unknown = driver->driver_counters().unknown_set;
  }
  return job::to_json(stats, 1);
}

}  // namespace alm::capi
