// Collectives of which all ranks learn whether they have succeeded. A collective of the MPI library
// may return an error on one rank while the others go on: the next one they call would then wait
// for a rank that has turned elsewhere. So each is followed by a second one, in which the ranks
// compare whether the first has succeeded. Where one rank fails in one of the two, all ranks end
// alike:
//
//   the first fails   its rank says so in the second; all ranks get an error
//   the second fails  its rank has what the first has brought, and goes on as the others do
//
// For bringing up, not for what every call does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mpi/ops.h"

namespace alm::mpi {

class SafeCollectives {
 public:
  SafeCollectives(MpiOps& ops, CommHandle comm) : ops_(ops), comm_(comm) {}

  // The records of all ranks; `all` has a place for each.
  template <class Record>
  base::Status gather(const Record& mine, std::vector<Record>& all) {
    return confirm(ops_.allgather(comm_, std::as_bytes(std::span(&mine, 1)),
                                  std::as_writable_bytes(std::span(all))),
                   "MPI_Allgather");
  }

  // The least of the ranks' values, word by word.
  base::Status least(std::span<std::uint64_t> values) {
    return confirm(ops_.allreduce_min(comm_, values), "MPI_Allreduce");
  }
  base::Status least(std::uint64_t& value) { return least(std::span(&value, 1)); }

  // The text of the one rank whose text it is, on all ranks. Empty where it fails, which it does on
  // all ranks or none.
  std::string tell(bool mine, const std::string& text);

  // Whether it is so on every rank.
  bool on_all(bool here);

  // Waits for all ranks. Where that fails on a rank, it alone does not wait.
  void come_together() { on_all(true); }

 private:
  base::Status tell(bool mine, std::span<std::uint64_t> words);
  base::Status confirm(int code, std::string_view function);

  MpiOps& ops_;
  CommHandle comm_;
};

}  // namespace alm::mpi
