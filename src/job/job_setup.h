// What a process sets up before it talks to other ranks: the options, the log, the cluster file,
// and the record by which the ranks compare them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/agreement.h"
#include "job/job.h"
#include "job/log.h"

namespace alm::job {

struct JobSettings {
  std::string host;                  // empty: the machine's name
  std::vector<std::string> options;  // "key=value"; override environment and configuration file
  std::string cluster_file;          // overrides the option; empty: none
  // Precedes the path in the error about a cluster file that cannot be read.
  std::string cluster_named_by;
  // Makes the log of `who`, "rank 3 (h3)", at a level of the option `log`.
  std::function<Log(const std::string& who, const std::string& level)> make_log =
      [](const std::string& who, const std::string& level) { return Log(who, level); };
};

// Fills in `record` and the job, whose rank is set. After an error the record tells the others that
// this rank cannot take part.
base::Status set_up(Job& job, JobRecord& record, const JobSettings& settings);

}  // namespace alm::job
