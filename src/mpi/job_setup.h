// What a process makes of its job before it meets the others: the options, the log, the cluster
// file, and the record by which the ranks compare them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "mpi/agreement.h"
#include "mpi/job.h"
#include "mpi/log.h"

namespace alm::mpi {

struct JobSettings {
  std::string host;                  // empty: the machine's name
  std::vector<std::string> options;  // "key=value", before environment and configuration file
  std::string cluster_file;          // before the option; empty: none
  // Said before the path of a cluster file that cannot be read.
  std::string cluster_named_by;
  // Made for "rank 3 (h3)" at a level of the option `log`.
  std::function<Log(const std::string& who, const std::string& level)> make_log =
      [](const std::string& who, const std::string& level) { return Log(who, level); };
};

// Fills in the job, whose rank is known, and `record`. What is wrong is said in an error; the
// record then tells the others that this rank cannot be used.
base::Status set_up(Job& job, JobRecord& record, const JobSettings& settings);

}  // namespace alm::mpi
