// The work of the exported functions, with MPI handles as machine words: the handles of a program
// of another MPI ABI must be passed through whole. (An MPICH handle is an int: the upper 32 bits of
// its word may hold anything.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace alm::mpi {
class Interposer;
}

namespace alm::mpi::entry {

using Word = std::uintptr_t;

// A call of the program, by the MPI library on this communicator. Its error code.
using Native = std::function<int(Word comm)>;

// An array of counts or displacements: ints, or 64 bits wide in the _c forms.
class Integers {
 public:
  Integers(const int* at) : at_(at), wide_(false) {}
  Integers(const std::int64_t* at) : at_(at), wide_(true) {}

  bool missing() const { return at_ == nullptr; }
  bool wide() const { return wide_; }
  std::int64_t operator[](std::size_t index) const {
    return wide_ ? as<std::int64_t>()[index] : as<int>()[index];
  }
  template <class Integer>
  const Integer* as() const {
    return static_cast<const Integer*>(at_);
  }

 private:
  const void* at_;
  bool wide_;
};

// What a program gives to MPI_Alltoall or to another of its forms.
struct Arguments {
  struct Side {
    const void* base;
    std::int64_t count;
    Word type;
  };
  Side send, recv;
  Word comm;
  bool wide;  // the _c form
  // Where the nonblocking forms put their request: a handle of the library's ABI.
  std::optional<void*> request = {};
  bool neighbours = false;        // MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall
  std::optional<Word> info = {};  // MPI_Alltoall_init, which has a request, too
};

// What it gives to MPI_Alltoallv or, where types are arrays of handles, to MPI_Alltoallw.
struct BlockArguments {
  struct Side {
    const void* base;
    Integers counts, displacements;
    Word types;
  };
  Side send, recv;
  Word comm;
  bool typed;  // MPI_Alltoallw
  std::optional<void*> request = {};
  bool neighbours = false;
  std::optional<Word> info = {};

  bool wide() const { return recv.counts.wide(); }
};

// The interposer of this process. Ends the process if no MPI library is loaded.
Interposer& interposer();

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int abort(Word comm, int code);
// `comm`: a pointer to a handle of the library's ABI.
int comm_free(void* comm);
int comm_disconnect(void* comm);

// `caller` is the address the exported function returns to.
int alltoall(const void* caller, const Arguments& arguments);
int alltoall(const void* caller, const BlockArguments& arguments);

// For the requests above these sleep; the library would spin.
int wait(void* request, void* status);
int waitall(int count, void* requests, void* statuses);

// For persistent ones: what starts and ends them, and what finds them complete and returns an error
// of their exchanges.
int start(void* request);
int startall(int count, void* requests);
int request_free(void* request);
int cancel(void* request);
int test(void* request, int* done, void* status);
int testall(int count, void* requests, int* done, void* statuses);
int testany(int count, void* requests, int* index, int* done, void* status);
int testsome(int count, void* requests, int* found, int* indices, void* statuses);
int waitany(int count, void* requests, int* index, void* status);
int waitsome(int count, void* requests, int* found, int* indices, void* statuses);

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
