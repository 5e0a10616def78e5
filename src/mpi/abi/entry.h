// The work of the exported functions, with MPI handles as machine words: the handles of a program
// of another MPI ABI must be passed through whole. (An MPICH handle is an int: the upper 32 bits of
// its word may hold anything.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace alm::mpi {
class Interposer;
}

namespace alm::mpi::entry {

using Word = std::uintptr_t;

// An array of counts or displacements: ints, or 64 bits wide in the _c forms.
class Integers {
 public:
  explicit Integers(const int* at) : narrow_(at) {}
  explicit Integers(const std::int64_t* at) : wide_(at) {}

  bool missing() const { return narrow_ == nullptr && wide_ == nullptr; }
  std::int64_t operator[](std::size_t index) const {
    return wide_ != nullptr ? wide_[index] : narrow_[index];
  }

 private:
  const int* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

// One side of an MPI_Alltoallv or, where `types` is an array of handles, of an MPI_Alltoallw.
struct BlockArguments {
  const void* base;
  Integers counts;
  Integers displacements;
  Word type;
  const void* types;
};

template <class Count>
using Alltoall = int(const void* send, Count send_count, Word send_type, void* recv,
                     Count recv_count, Word recv_type, Word comm);

template <class Integer>
using Alltoallv = int(const void* send, const Integer* send_counts, const Integer* send_at,
                      Word send_type, void* recv, const Integer* recv_counts,
                      const Integer* recv_at, Word recv_type, Word comm);
template <class Integer>
using Alltoallw = int(const void* send, const Integer* send_counts, const Integer* send_at,
                      const void* send_types, void* recv, const Integer* recv_counts,
                      const Integer* recv_at, const void* recv_types, Word comm);

// The interposer of this process. Ends the process if no MPI library is loaded.
Interposer& interposer();

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int abort(Word comm, int code);

// `caller` is the address the exported function returns to.
int alltoall(const void* caller, const void* send, int send_count, Word send_type, void* recv,
             int recv_count, Word recv_type, Word comm);
int alltoall_c(const void* caller, const void* send, std::int64_t send_count, Word send_type,
               void* recv, std::int64_t recv_count, Word recv_type, Word comm);

// Integer is int, or std::int64_t for the _c forms.
template <class Integer>
int alltoallv(const void* caller, const void* send, const Integer* send_counts,
              const Integer* send_at, Word send_type, void* recv, const Integer* recv_counts,
              const Integer* recv_at, Word recv_type, Word comm);
template <class Integer>
int alltoallw(const void* caller, const void* send, const Integer* send_counts,
              const Integer* send_at, const void* send_types, void* recv,
              const Integer* recv_counts, const Integer* recv_at, const void* recv_types,
              Word comm);

// In entry_nonblocking.cc. `request` points at a handle of the library's ABI.
template <class Count>
using Ialltoall = int(const void* send, Count send_count, Word send_type, void* recv,
                      Count recv_count, Word recv_type, Word comm, void* request);
template <class Integer>
using Ialltoallv = int(const void* send, const Integer* send_counts, const Integer* send_at,
                       Word send_type, void* recv, const Integer* recv_counts,
                       const Integer* recv_at, Word recv_type, Word comm, void* request);
template <class Integer>
using Ialltoallw = int(const void* send, const Integer* send_counts, const Integer* send_at,
                       const void* send_types, void* recv, const Integer* recv_counts,
                       const Integer* recv_at, const void* recv_types, Word comm, void* request);

template <class Count>
int ialltoall(const void* caller, const void* send, Count send_count, Word send_type, void* recv,
              Count recv_count, Word recv_type, Word comm, void* request);
template <class Integer>
int ialltoallv(const void* caller, const void* send, const Integer* send_counts,
               const Integer* send_at, Word send_type, void* recv, const Integer* recv_counts,
               const Integer* recv_at, Word recv_type, Word comm, void* request);
template <class Integer>
int ialltoallw(const void* caller, const void* send, const Integer* send_counts,
               const Integer* send_at, const void* send_types, void* recv,
               const Integer* recv_counts, const Integer* recv_at, const void* recv_types,
               Word comm, void* request);

// For the requests above these sleep; the library would spin.
int wait(void* request, void* status);
int waitall(int count, void* requests, void* statuses);

// Another tool's definition of the function after ours, or null.
void* tool_after_this(const char* name);

// Where the process has used the MPI library and nothing has come here, that is said.
void at_exit();

// Around calls that such a tool gets first. It comes back through PMPI_X here, or passes this
// library by: dlsym(RTLD_NEXT, "PMPI_X") in the tool finds the MPI library's own.
int initialised_by_tool(int code);
void finalised_by_tool();
// How many exchanges this thread has brought here so far.
std::uint64_t exchanges_come();
// One that a tool got, whose definition is `next`, did not come.
void passed_by(const char* name, const void* next);

}  // namespace alm::mpi::entry
