// What the exported functions do, with MPI handles as machine words: a program of another MPI ABI
// must be passed through with its handles whole. (An MPICH handle is an int: its word may carry
// anything above the low 32 bits.)
#pragma once

#include <cstdint>

namespace alm::mpi::entry {

using Word = std::uintptr_t;

template <class Count>
using Alltoall = int(const void* send, Count send_count, Word send_type, void* recv,
                     Count recv_count, Word recv_type, Word comm);

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();

// `caller` is the address the exported function returns to.
int alltoall(const void* caller, const void* send, int send_count, Word send_type, void* recv,
             int recv_count, Word recv_type, Word comm);
int alltoall_c(const void* caller, const void* send, std::int64_t send_count, Word send_type,
               void* recv, std::int64_t recv_count, Word recv_type, Word comm);

// Another tool's definition of the function after ours, or null.
void* tool_after_this(const char* name);

}  // namespace alm::mpi::entry
