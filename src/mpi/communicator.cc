#include "mpi/communicator.h"

#include <fmt/format.h>

#include <bit>
#include <exception>
#include <new>

namespace alm::mpi {
namespace {

transport::Exchange equal_blocks(const Staging& staging, std::uint64_t bytes) {
  transport::Exchange exchange;
  exchange.send.base = staging.send();
  exchange.recv.base = staging.recv();
  exchange.send.stride = exchange.recv.stride = bytes;
  exchange.send.bytes = exchange.recv.bytes = bytes;
  return exchange;
}

}  // namespace

Communicator::Communicator(Job& job, CommHandle comm, std::uint32_t ranks, std::uint32_t self)
    : job_(job), comm_(comm), ranks_(ranks), self_(self) {}

std::optional<int> Communicator::alltoall(const AlltoallCall& call) {
  settle();
  if (!accelerates()) return std::nullopt;
  if (mode_ == Mode::kFailed) return raise_failure();
  begin_call();
  // Nothing for the library either; but others may have something for this rank.
  if (call.bytes() == 0) {
    note_way(0);
    return std::nullopt;
  }
  announce(call.bytes());
  return or_withdraw(call.name, [&] {
    return on_trial() ? try_out(call) : accelerate(call, model_way(call.bytes()));
  });
}

// Equal on correct programs.
base::Status Communicator::begin(Staging& staging, const AlltoallCall& call) const {
  if (call.recv.bytes() != call.bytes()) {
    return base::bad_input(fmt::format("it sends {} bytes to each rank but receives {}",
                                       call.bytes(), call.recv.bytes()));
  }
  return packed(staging.begin(job_.ops, call, ranks_, self_));
}

base::Status Communicator::packed(int code) {
  if (code == kMpiSuccess) return {};
  return base::io_error(fmt::format("what it sends cannot be packed: MPI error {}", code));
}

int Communicator::accelerate(const AlltoallCall& call, tuning::Way way) {
  if (const auto ready = begin(staging_, call); !ready) return withdraw(call.name, ready.error());
  if (const auto done = exchange(staging_, call.bytes(), way); !done) {
    return fail(call.name, done.error());
  }
  if (const int code = staging_.finish(job_.ops, call, ranks_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  return kMpiSuccess;
}

base::Status Communicator::exchange(const Staging& staged, std::uint64_t bytes, tuning::Way way) {
  auto done = take(way, staged, bytes);
  // Ranks whose size sends them over messages wait for this one there.
  if (!done && mode_ == Mode::kUdp && tuning::kin_of(way) == tuning::Kin::kUdp && messages_ &&
      done.error().code == base::ErrorCode::kBadInput) {
    messages_->give_up();
  }
  const auto more = count();
  job_.stats.update([&](StatsRecord& stats) {
    ++stats.exchanges;
    auto& line = stats.size(bytes);
    ++line.exchanges;
    line.packets += more.data_sent;
    line.retransmitted += more.data_retransmitted;
  });
  return done;
}

base::Status Communicator::take(tuning::Way way, const Staging& staged, std::uint64_t bytes) {
  if (node_ && tuning::kin_of(way) == tuning::Kin::kUdp) {
    const bool phased = way.kind == tuning::Way::Kind::kPhased;
    return node_->alltoall(staged.send(), staged.recv(), bytes,
                           phased ? std::optional<std::size_t>(way.index) : std::nullopt);
  }
  if (way.kind == tuning::Way::Kind::kPhased) {
    return group_->run_combining(way.index, {staged.send(), bytes, bytes},
                                 {staged.recv(), bytes, bytes}, {.each = bytes});
  }
  if (way.kind != tuning::Way::Kind::kMessages) return run(equal_blocks(staged, bytes));
  return over_messages([&] {
    const auto order = static_cast<plan::MessageOrder>(way.index);
    return messages_->run(order, staged.send(), staged.recv(), bytes);
  });
}

base::Status Communicator::run(transport::Exchange exchange) {
  if (mode_ != Mode::kMessages) return group_->run(exchange);
  execute::Amounts amounts;
  amounts.each = exchange.send.bytes;
  amounts.sends = exchange.send.size;
  amounts.receives = exchange.recv.size;
  return over_messages([&] { return messages_->run(exchange.send, exchange.recv, amounts); });
}

base::Status Communicator::over_messages(const std::function<base::Status()>& send) {
  const std::uint64_t before = messages_->messages_sent();
  auto done = send();
  if (!done) tell_others(done.error());
  job_.stats.update(
      [&](StatsRecord& stats) { stats.mpi_messages += messages_->messages_sent() - before; });
  return done;
}

// Where ranks share hosts, what is too much for their memory goes in slabs, without phases.
bool Communicator::has_phases(std::uint64_t bytes) const {
  return mode_ == Mode::kUdp && !phased_.empty() && !(node_ && bytes > node_->piece_bytes());
}

// Equal on all ranks, those that have no part of their own in the group included.
std::optional<std::size_t> Communicator::choose_phased(std::uint64_t bytes) const {
  if (!has_phases(bytes)) return std::nullopt;
  return plan::choose_combining(phased_, host_block(bytes), packet_bytes_);
}

// Of what the ranks of a host send those of another in one exchange.
std::uint64_t Communicator::host_block(std::uint64_t bytes) const {
  const std::uint64_t each = placement_.count(host_);
  return each * each * bytes;
}

tuning::Way Communicator::model_way(std::uint64_t bytes) const {
  if (const auto chosen = choose_phased(bytes)) return tuning::phased_way(*chosen);
  const bool named = job_.options.algorithm == kGrid && has_phases(bytes);
  return named ? tuning::phased_way(0) : tuning::Way{};
}

// What the group has done since it was last asked.
transport::Counters Communicator::count() {
  if (!group_) return {};
  const auto now = group_->counters();
  auto more = now;
  more.data_sent -= counted_.data_sent;
  more.data_retransmitted -= counted_.data_retransmitted;
  counted_ = now;
  return more;
}

// A failed exchange leaves the ranks in different states: the communicator is given up for good.
int Communicator::fail(const char* function, const base::Error& error) {
  give_up(function, error);
  return raise_failure();
}

int Communicator::raise_failure() { return job_.ops.raise(comm_, failure_); }

const base::Error& Communicator::give_up(const char* function, const base::Error& error) {
  const std::string text = fmt::format("{} failed: {}", function, error.message);
  job_.log.error(text);
  const std::lock_guard lock(release_mutex_);
  failure_ = {error.code, "allemande: " + text};
  mode_ = Mode::kFailed;
  share_failure();
  release();
  return failure_;
}

// What fails here alone: the others are under way and would wait for this rank, which is alive.
int Communicator::withdraw(const char* function, const base::Error& error) {
  settle();
  if (mode_ != Mode::kFailed) tell_and_give_up(function, error);
  return raise_failure();
}

const base::Error& Communicator::tell_and_give_up(const char* function, const base::Error& error) {
  const base::Error named{error.code, name_of_rank(self_) + ": " + error.message};
  tell_others(named);
  return give_up(function, named);
}

void Communicator::tell_others(const base::Error& error) {
  if (node_) node_->node().fail(error, self_);
  if (group_) group_->give_up(error.message, self_);
  if (messages_) messages_->give_up();
}

int Communicator::or_withdraw(const char* function, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return withdraw(function, base::io_error("no memory for a copy of what is exchanged"));
  } catch (const std::exception& failure) {
    return withdraw(function, base::io_error(failure.what()));
  }
}

void Communicator::close() {
  worker_.reset();
  record_decisions();
  mode_ = Mode::kClosed;
  release();
}

void Communicator::release() {
  if (group_) {
    const auto sum = group_->counters();
    job_.stats.update([&](StatsRecord& stats) { stats.channel += sum; });
    group_->close();
  }
  // Where messages could not be ended, MPI may still use what they were sent from and come into.
  if (messages_ && !messages_->ended()) {
    messages_->keep(std::make_shared<Staging>(std::move(staging_)));
    messages_->keep(std::make_shared<BlockStaging>(std::move(blocks_)));
    messages_->keep(queued_);
  }
  node_.reset();
  counts_.reset();
  group_.reset();
  messages_.reset();
  staging_.release();
  blocks_.release();
  records_.clear();
  tried_.clear();
  tried_blocks_.clear();
}

void Communicator::announce(std::uint64_t bytes) {
  if (self_ != 0 || !job_.log.shows(LogLevel::kInfo)) return;
  const tuning::Way way = model_way(bytes);
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  if (!announced_.insert({size_class, way.kind, way.index}).second) return;
  job_.log.info(size_class_text(bytes) + way_text(way));
}

void Communicator::announce_blocks(const char* function) {
  if (self_ != 0 || blocks_announced_ || !job_.log.shows(LogLevel::kInfo)) return;
  blocks_announced_ = true;
  job_.log.info(fmt::format("{} on {} ranks: {}", function, ranks_, way_text(tuning::Way{})));
}

std::string Communicator::size_class_text(std::uint64_t bytes) const {
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  return fmt::format("MPI_Alltoall on {} ranks, {} to {} bytes per pair: ", ranks_,
                     std::uint64_t{1} << (size_class - 1), (std::uint64_t{1} << size_class) - 1);
}

std::string Communicator::way_name(tuning::Way way) const {
  constexpr std::string_view kOverMessages = " over MPI point-to-point messages";
  switch (way.kind) {
    case tuning::Way::Kind::kNative:
      return "the MPI library";
    case tuning::Way::Kind::kMessages:
      return fmt::format("{}{}", name_of(static_cast<plan::MessageOrder>(way.index)),
                         kOverMessages);
    case tuning::Way::Kind::kPhased:
      return plan::text_of(phased_[way.index]) + " over UDP";
    case tuning::Way::Kind::kRounds:
      break;
  }
  return fmt::format("{} ({}){}", plan::name_of(rounds_.algorithm),
                     plan::name_of(rounds_.permutation),
                     mode_ == Mode::kUdp ? " over UDP" : kOverMessages);
}

std::string Communicator::way_text(tuning::Way way) const {
  const bool udp = mode_ == Mode::kUdp && tuning::kin_of(way) == tuning::Kin::kUdp;
  if (!udp) return way_name(way);
  return fmt::format("{}, {}{}", way_name(way), group_->settings_text(),
                     node_ ? ", " + placement_.text() : "");
}

}  // namespace alm::mpi
