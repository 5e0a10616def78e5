#include "mpi/safe_collectives.h"

#include <string>

namespace alm::mpi {

base::Status SafeCollectives::confirm(int code, std::string_view function) {
  if (on_all(code == kMpiSuccess)) return {};
  return base::io_error(std::string(function) + " failed on it");
}

bool SafeCollectives::on_all(bool here) {
  std::uint64_t everywhere = here ? 1 : 0;
  // Where this fails, the others have taken this rank's answer for granted: so does it.
  if (ops_.allreduce_min(comm_, everywhere) != kMpiSuccess) return here;
  return everywhere != 0;
}

}  // namespace alm::mpi
