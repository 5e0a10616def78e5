// The state that all communicators of the process share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "job/agreement.h"
#include "job/doing.h"
#include "job/log.h"
#include "job/ops.h"
#include "job/processors.h"
#include "job/random_key.h"
#include "job/slurm_leaf.h"
#include "job/start_thread.h"
#include "job/stats.h"
#include "model/profile.h"
#include "node/liveness.h"
#include "tally/summary_output.h"
#include "tally/tally.h"
#include "topology/cluster.h"
#include "transport/io/driver.h"
#include "tuning/decisions.h"

namespace alm::job {

struct Job {
  explicit Job(MpiOps& library) : bootstrap(library), mpi(&library) {}
  explicit Job(Bootstrap& without_mpi) : bootstrap(without_mpi) {}

  Bootstrap& bootstrap;
  // The same object, with all that MPI can do. Null: there is no MPI library to pass calls to.
  // Ranks that share a host then have an endpoint each, and communicators report failures by
  // obstacle() instead of warning.
  MpiOps* mpi = nullptr;
  base::Options options;
  RandomBytes random_bytes = system_random_bytes;  // for keys
  StartThread start_thread = job::start_thread;    // for nonblocking calls
  Log log;
  std::optional<topology::Cluster> cluster;
  std::string host;
  HostSwitches switches;   // above this host, by Slurm
  std::uint32_t rank = 0;  // in MPI_COMM_WORLD
  Agreement agreement;
  std::vector<JobRecord> records;  // [rank in MPI_COMM_WORLD]
  Stats stats;
  tally::Tally tally;  // begun where the options ask for statistics or a summary
  tally::SummaryOutput summary{tally};
  Doing doing;  // for ranks that wait for this one
  ProcessorWait processor_wait;
  tuning::JobShape shape;
  node::LivenessFiles liveness;           // of ranks that share a host with this one
  std::vector<tuning::Decision> known;    // from jobs of this shape; equal on all ranks
  std::optional<model::Profile> profile;  // of this job's network; equal on all ranks

  // Notes what a communicator has decided, for the decision file.
  // `decided`: else it is the best so far of a trial, and does not replace a decision.
  void record(tuning::Decision decision, bool decided = true);
  std::vector<tuning::Decision> recorded();

  // The driver with its sockets, opened at the first call. A failure is remembered.
  base::Result<io::Driver*> driver();
  bool has_driver() const { return driver_ != nullptr; }
  void close_driver();

  // The hosts of the job that the cluster file knows, each once, in the order of their ranks.
  // Precondition: there is a cluster file.
  std::vector<base::HostId> hosts() const;
  // Whether nonblocking calls are carried; equal on all ranks.
  bool has_nonblocking() const;
  // Collective over MPI_COMM_WORLD, before there is a driver: where hosts can reach each other by
  // several networks, the fastest that carries packets between them is taken.
  void choose_network(CommHandle world);
  // How many links of every host paths use, by the cluster file or by what their devices say; equal
  // on all ranks.
  std::uint32_t links() const;

  // No router answered the first question of MPI_COMM_WORLD: other communicators ask none.
  std::atomic<bool> no_routers = false;
  // Where no cluster file tells: of a full packet to another host and a short answer, and what a
  // full frame takes longer on a link. 0: nobody has answered; -1: not asked yet.
  std::atomic<base::Nanos> idle_round_trip = -1, frame_time = -1;

  // Logs a text only once: communicators made in a loop all meet the same obstacle.
  void warn_once(const std::string& text);
  // Warns of what a user has described wrongly. The first warning about a thing is enough.
  void warn_first(std::string_view about, const std::string& text);
  // Warns of rates in the cluster file, as soon as this host has received more than its links can
  // carry by it.
  void check_rate();

  const topology::Cluster* cluster_or_null() const { return cluster ? &*cluster : nullptr; }
  const model::Profile* profile_or_null() const { return profile ? &*profile : nullptr; }

 private:
  struct LocalAddress {
    base::Result<std::string> address;
    std::string why = {};  // for people
    std::size_t link = 0;  // of the cluster file, the first one in use
  };
  // The best first; as many on every rank.
  std::vector<LocalAddress> local_addresses() const;
  std::vector<std::size_t> links_tried() const;  // of the cluster file; equal on all ranks
  bool names_interface() const;                  // on some host; equal on all ranks
  base::Result<std::unique_ptr<io::Driver>> open();

  std::mutex mutex_;  // threads may bring up different communicators at once
  std::unique_ptr<io::Driver> driver_;
  std::optional<base::Error> obstacle_;
  std::set<std::string> said_;
  std::size_t network_ = 0;  // of local_addresses()
  std::string passed_over_;  // the networks before it, and why; empty: there are none
  std::vector<tuning::Decision> recorded_;
};

}  // namespace alm::job
