// Collectives whose success all ranks learn. A collective of the MPI library may return an error on
// one rank while the others go on; their next collective would wait for a rank that does something
// else. So each collective is followed by a second one, in which the ranks compare whether the
// first has succeeded. If one rank fails in one of the two, all ranks end alike:
//
//   the first fails   its rank says so in the second; all ranks get an error
//   the second fails its rank has the result of the first, and goes on as the others do
// For bring-up: every call would pay for two collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/bootstrap.h"

namespace alm::job {

class SafeCollectives {
 public:
  SafeCollectives(Bootstrap& bootstrap, CommHandle comm) : bootstrap_(bootstrap), comm_(comm) {}

  // Gathers the records of all ranks into `all`, which has a place for each.
  template <class Record>
  base::Status gather(const Record& mine, std::vector<Record>& all) {
    return confirm(bootstrap_.allgather(comm_, std::as_bytes(std::span(&mine, 1)),
                                        std::as_writable_bytes(std::span(all))),
                   "MPI_Allgather");
  }

  // Takes the minimum of the ranks' values, word by word.
  base::Status least(std::span<std::uint64_t> values) {
    return confirm(bootstrap_.allreduce_min(comm_, values), "MPI_Allreduce");
  }
  base::Status least(std::uint64_t& value) { return least(std::span(&value, 1)); }
  // The same of the maximum.
  base::Status most(std::span<std::uint64_t> values) {
    return confirm(bootstrap_.allreduce_max(comm_, values), "MPI_Allreduce");
  }

  // Sends a text from the one rank where `mine` is true to all ranks. Empty: it failed, on all
  // ranks.
  std::string tell(bool mine, const std::string& text);

  // Whether `here` is true on every rank.
  bool on_all(bool here);

  // Waits for all ranks. A rank on which this fails does not wait.
  void come_together() { on_all(true); }

 private:
  base::Status tell(bool mine, std::span<std::uint64_t> words);
  base::Status confirm(int code, std::string_view function);

  Bootstrap& bootstrap_;
  CommHandle comm_;
};

}  // namespace alm::job
