// Logs, on rank 0 of a communicator, the ways that its exchanges take.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "communicator/tried.h"
#include "courier/courier.h"
#include "job/job.h"
#include "meeting/members.h"
#include "tuning/size_class.h"
#include "ways/repertoire.h"

namespace alm::communicator {

class Report {
 public:
  Report(job::Job& job, const meeting::Members& members, const ways::Repertoire& ways,
         const courier::Courier& courier)
      : job_(job), members_(members), ways_(ways), courier_(courier) {}

  // Logs the model's way before an exchange, once for each size class and way.
  void announce(std::uint64_t bytes);
  void announce_blocks(const char* function);

  // Logs the predictions with which a trial begins.
  void begins(const Tried& tried) const;
  // Logs that a trial takes over the decision of an earlier job.
  void adopted(const Tried& tried, tuning::Way way, const std::string& why) const;
  // Logs that so many packets of bursts (tuning/bursts.h) were lost.
  void burst(const Tried& tried, std::uint64_t lost) const;
  // Logs new decisions and reopened trials. Called after the ranks have agreed on times.
  void tell(Tried& tried) const;
  // Warns that calls take less than the links of the cluster file allow, and names the link.
  void refutes_limit(const Tried& tried) const;
  // Warns that calls take far more, or less, than the profile predicts.
  void refutes_profile(const Tried& tried) const;
  // Warns that what an earlier job decided does not hold, and names the line, if the user named the
  // file.
  void refutes_decision(const Tried& tried) const;

 private:
  bool shows() const;
  std::string class_text(std::uint64_t bytes) const;
  std::string subject_text(const Tried& tried) const;
  std::string way_text(tuning::Way way) const;  // with the settings

  job::Job& job_;
  const meeting::Members& members_;
  const ways::Repertoire& ways_;
  const courier::Courier& courier_;
  bool blocks_announced_ = false;
  std::set<std::tuple<tuning::SizeClass, tuning::Way::Kind, std::uint32_t>> announced_;
};

}  // namespace alm::communicator
