#include "mpi/abi/ops.h"

#include <gtest/gtest.h>

#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

int looks_before_revoked = 0;

template <class... Arguments>
int nothing(Arguments...) {
  return MPI_SUCCESS;
}

MPI_Errhandler errors_return() { return from_opaque<MPI_Errhandler>(1); }

// A library in which every code is its class, and which says that a communicator is revoked when it
// has been asked `looks_before_revoked` times.
messages::MpiApi api() {
  messages::MpiApi made;
  made.errors_return = errors_return();
  made.errors_are_fatal = from_opaque<MPI_Errhandler>(2);
  made.Type_create_keyval = nothing;
  made.Comm_create_keyval = nothing;
  made.Comm_dup = nothing;
  made.Comm_set_errhandler = nothing;
  made.Irecv = nothing;
  made.Test = nothing;
  made.Comm_get_errhandler = [](MPI_Comm, MPI_Errhandler* handler) {
    *handler = errors_return();
    return MPI_SUCCESS;
  };
  made.Comm_is_revoked = [](MPI_Comm, int* revoked) {
    *revoked = looks_before_revoked-- <= 0 ? 1 : 0;
    return MPI_SUCCESS;
  };
  made.Add_error_code = [](int error_class, int* code) {
    *code = error_class;
    return MPI_SUCCESS;
  };
  made.Add_error_class = [](int* made_class) {
    *made_class = 1000;
    return MPI_SUCCESS;
  };
  made.Add_error_string = nothing;
  made.Error_string = [](int, char*, int*) { return MPI_ERR_OTHER; };
  made.Comm_call_errhandler = nothing;
  return made;
}

// What the program gets for an error of a communicator that is revoked a little later.
int raised(base::ErrorCode code, int looks) {
  const messages::MpiApi library = api();
  AbiOps ops(
      library, [](void*) {}, [] {}, false);
  looks_before_revoked = looks;
  return ops.raise(job::CommHandle{}, {code, "rank 1 on h1 has given up, and says why"});
}

TEST(Ops, WhoHearsOfOthersFirstWaitsForTheRevocation) {
  const int revoked = raised(base::ErrorCode::kPeerLost, 0);
  EXPECT_NE(revoked, MPI_ERR_OTHER);
  EXPECT_EQ(raised(base::ErrorCode::kPeerLost, 3), revoked);
  EXPECT_EQ(raised(base::ErrorCode::kTimeout, 3), revoked);
  EXPECT_NE(raised(base::ErrorCode::kBadInput, 3), revoked);
}

}  // namespace
}  // namespace alm::mpi
