// Chooses the way of each exchange of a communicator while ways are on trial (tuning/trial.h): one
// of ours over UDP, the MPI library's own, or MPI messages in one of our orders. Decisions are
// written to the decision file and taken from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/transport.h"
#include "communicator/report.h"
#include "communicator/tried.h"
#include "courier/courier.h"
#include "courier/failure.h"
#include "job/job.h"
#include "meeting/members.h"
#include "topology/cluster.h"
#include "tuning/library_calls.h"
#include "tuning/size_class.h"
#include "ways/repertoire.h"

namespace alm::communicator {

class Trials {
 public:
  Trials(job::Job& job, job::CommHandle comm, const meeting::Members& members,
         const ways::Repertoire& ways, courier::Courier& courier, courier::Failure& failure,
         Report& report)
      : job_(job),
        comm_(comm),
        members_(members),
        ways_(ways),
        courier_(courier),
        failure_(failure),
        report_(report) {}

  // Whether the ways of this communicator are on trial at all.
  bool on() const;
  bool on_for_blocks() const;

  // Collective, before the first call: whether calls of the library have
  // waited for time-outs until now.
  void take_library_calls(tuning::LibraryCalls calls);

  // The trial that the next call belongs to, equal on all ranks. `messages_refused`: the ranks have
  // found that MPI messages cannot be opened.
  Tried& of(std::uint64_t bytes, bool messages_refused);
  // The same for blocks of any size, by the bytes that the fullest rank carries; `limit` as in
  // tuning::Trial.
  Tried& of_blocks(Blocks blocks, std::uint64_t load, base::Nanos limit);
  // Whether the next exchange of blocks with this load is carried out by us, not by the library.
  bool takes_ours(std::uint64_t load) const;
  // Whether blocking calls with this load have found the library's own way the fastest.
  bool chose_library(Blocks blocks, std::uint64_t load) const;

  // Makes a burst before the next call if one is due (tuning/bursts.h); took() follows the call.
  // All ranks alike.
  void burst(Tried& tried);
  // The call has taken tried.way(), and `time` on this rank. Collective at some calls, the same on
  // all ranks. An error: this rank alone does not know what the others have agreed on.
  base::Status took(const char* function, Tried& tried, base::Nanos time);

  // For calls that are not on trial themselves: the way decided on for their size. The model's way
  // if there is no decision, or if MPI messages won; the rounds if that is one of their orders.
  // Nothing: the library's own, which also carries the smallest blocks while nothing is decided and
  // nobody has asked for ours.
  std::optional<tuning::Way> decided(std::uint64_t bytes) const;
  // Whether it carries these while nothing is decided.
  bool leaves_to_library(std::uint64_t bytes) const;

  // Hands all decisions to the job, for the decision file.
  void record() const;

 private:
  using Key = std::tuple<tuning::SizeClass, tuning::Way::Kind, std::uint32_t>;  // the model's way

  Key key_of(std::uint64_t bytes) const;
  std::vector<base::Transport> transports_of(const std::vector<tuning::Way>& ways) const;
  base::Nanos least_time(std::uint64_t bytes, topology::Packing packing) const;
  base::Nanos stall_of(std::uint64_t bytes) const;
  void risk(Tried& tried, std::uint64_t bytes) const;
  base::Status agree(const char* function, tuning::Trial& trial) const;
  std::uint64_t load_of(const Tried& tried) const;
  base::Status judge_burst(Tried& tried);
  std::uint64_t overflow() const;  // packets that sockets of this process had no room for
  void hear(Tried& tried) const;
  void spread(const Tried& news);
  void hold_against_file(const Tried& tried);
  tuning::Decision subject(const Tried& tried) const;
  bool adopt(Tried& tried) const;  // false: no earlier job has tried this
  std::optional<tuning::Decision> latest(const Tried& tried) const;
  void record(const Tried& tried) const;

  job::Job& job_;
  job::CommHandle comm_;
  const meeting::Members& members_;
  const ways::Repertoire& ways_;
  courier::Courier& courier_;
  courier::Failure& failure_;
  Report& report_;
  // Where the model's choice changes within a size class, each part has a trial of its own.
  std::map<Key, Tried> tried_;
  std::map<std::pair<Blocks, tuning::SizeClass>, Tried> tried_blocks_;
  std::uint64_t overflow_before_ = 0;  // the latest burst
  bool rates_refuted_ = false;         // those of the cluster file, as all ranks know
  std::uint64_t held_load_ = 0;  // the most bytes a rank has sent at once and queues have held
};

}  // namespace alm::communicator
