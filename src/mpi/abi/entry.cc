#include "mpi/abi/entry.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

#include "mpi/abi/interposer.h"
#include "mpi/abi/large_counts.h"
#include "mpi/abi/words.h"

namespace alm::mpi::entry {

Interposer& interposer() {
  if (auto* found = Interposer::get()) return *found;
  std::fputs(
      "allemande: error: MPI is called, but no MPI library is loaded that allemande knows "
      "(libmpi.so.40, libmpi.so.12, libmpich.so.12, libmpi_abi.so.1)\n",
      stderr);
  std::abort();
}

namespace {

thread_local std::uint64_t come = 0;

// The MPI library's own function of a form, and its _c form where the library has one.
struct Native {
  void* narrow;
  void* wide;
};
#define ALM_NATIVE_BOTH(name) \
  Native { with_words<void>(api.name), with_words<void>(api.name##_c) }
#if MPI_VERSION >= 4
#define ALM_NATIVE(name) ALM_NATIVE_BOTH(name)
#else
#define ALM_NATIVE(name) \
  Native { with_words<void>(api.name), nullptr }
#endif

template <class Count>
int call(void* function, const Arguments& given) {
  const auto pass = [&]<class... Request>(Request... request) {
    using Form = int(const void*, Count, Word, void*, Count, Word, Word, Request...);
    const auto &send = given.send, &recv = given.recv;
    return reinterpret_cast<Form*>(function)(
        send.base, static_cast<Count>(send.count), send.type, const_cast<void*>(recv.base),
        static_cast<Count>(recv.count), recv.type, given.comm, request...);
  };
  if (given.info) return pass(*given.info, *given.request);
  return given.request ? pass(*given.request) : pass();
}

template <class Integer>
int call(void* function, const BlockArguments& given) {
  const auto pass = [&]<class... Request>(Request... request) {
    using Form = int(const void*, const Integer*, const Integer*, Word, void*, const Integer*,
                     const Integer*, Word, Word, Request...);
    const auto &send = given.send, &recv = given.recv;
    return reinterpret_cast<Form*>(function)(
        send.base, send.counts.template as<Integer>(), send.displacements.template as<Integer>(),
        send.types, const_cast<void*>(recv.base), recv.counts.template as<Integer>(),
        recv.displacements.template as<Integer>(), recv.types, given.comm, request...);
  };
  if (given.info) return pass(*given.info, *given.request);
  return given.request ? pass(*given.request) : pass();
}

// A program may find here what its library does not have.
int refuse_missing(const messages::MpiApi& api, Word comm) {
  with_words<int(Word, int)>(api.Comm_call_errhandler)(comm, MPI_ERR_UNSUPPORTED_OPERATION);
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

int natively(Interposer& self, const Arguments& given) {
  const auto& api = self.library().api();
  Native native = given.request ? ALM_NATIVE(Ialltoall) : ALM_NATIVE(Alltoall);
  if (given.neighbours) {
    native = given.request ? ALM_NATIVE(Ineighbor_alltoall) : ALM_NATIVE(Neighbor_alltoall);
  }
  if (given.info) native = ALM_NATIVE_BOTH(Alltoall_init);
  if (native.narrow == nullptr) return refuse_missing(api, given.comm);
  if (given.wide && native.wide != nullptr) return call<std::int64_t>(native.wide, given);
#if MPI_VERSION >= 4
  if (given.wide && !large_counts::fit(given)) return large_counts::refuse(api, given.comm);
#endif
  return call<int>(native.narrow, given);
}

int natively(Interposer& self, const BlockArguments& given) {
  const auto& api = self.library().api();
  Native native = given.request ? ALM_NATIVE(Ialltoallv) : ALM_NATIVE(Alltoallv);
  if (given.typed) native = given.request ? ALM_NATIVE(Ialltoallw) : ALM_NATIVE(Alltoallw);
  if (given.neighbours) {
    native = given.request ? ALM_NATIVE(Ineighbor_alltoallv) : ALM_NATIVE(Neighbor_alltoallv);
    if (given.typed) {
      native = given.request ? ALM_NATIVE(Ineighbor_alltoallw) : ALM_NATIVE(Neighbor_alltoallw);
    }
  }
  if (given.info) {
    native = given.typed ? ALM_NATIVE_BOTH(Alltoallw_init) : ALM_NATIVE_BOTH(Alltoallv_init);
  }
  if (native.narrow == nullptr) return refuse_missing(api, given.comm);
#if MPI_VERSION >= 4
  if (given.wide() && native.wide != nullptr) return call<std::int64_t>(native.wide, given);
  if (given.wide()) {
    if (given.neighbours && !self.library().unusable().empty()) {
      return large_counts::refuse(api, given.comm);
    }
    // The library may look at the arrays until the request is complete.
    std::deque<std::vector<int>> until_return;
    const auto narrow = large_counts::narrowed(api, given, [&](std::vector<int> values) {
      return given.request ? self.keep(std::move(values))
                           : until_return.emplace_back(std::move(values)).data();
    });
    return narrow ? call<int>(native.narrow, *narrow) : large_counts::refuse(api, given.comm);
  }
#endif
  return call<int>(native.narrow, given);
}

template <class Given>
int accelerate_or_pass(const void* caller, const Given& given) {
  ++come;
  auto& self = interposer();
  const auto native = [&](Word comm) {
    Given same = given;
    same.comm = comm;
    return natively(self, same);
  };
  if (!self.library().contains(caller)) {
    const auto code = given.request ? self.ialltoall(given) : self.alltoall(given, native);
    if (code) return *code;
    if (given.request) return self.passed(given, native(given.comm));
  }
  return native(given.comm);
}

}  // namespace

int alltoall(const void* caller, const Arguments& arguments) {
  return accelerate_or_pass(caller, arguments);
}

int alltoall(const void* caller, const BlockArguments& arguments) {
  return accelerate_or_pass(caller, arguments);
}

int init(int* argc, char*** argv) {
  auto& self = interposer();
  const auto& api = self.library().api();
  const int level = self.thread_level(MPI_THREAD_SINGLE);
  if (level == MPI_THREAD_SINGLE) return self.initialised(api.Init(argc, argv));
  int provided = level;
  return self.initialised(api.Init_thread(argc, argv, level, &provided));
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  auto& self = interposer();
  const int level = self.thread_level(required);
  return self.initialised(self.library().api().Init_thread(argc, argv, level, provided));
}

int finalize() {
  auto& self = interposer();
  self.finalising();
  return self.library().api().Finalize();
}

int abort(Word comm, int code) {
  auto& self = interposer();
  self.aborting();
  return with_words<int(Word, int)>(self.library().api().Abort)(comm, code);
}

int comm_free(void* comm) {
  auto& self = interposer();
  self.freeing(comm);
  return with_words<int(void*)>(self.library().api().Comm_free)(comm);
}

int comm_disconnect(void* comm) {
  auto& self = interposer();
  self.freeing(comm);
  return with_words<int(void*)>(self.library().api().Comm_disconnect)(comm);
}

void at_exit() {
  if (const auto* found = Interposer::get()) found->at_exit();
}

int initialised_by_tool(int code) { return interposer().initialised_by_tool(code); }

void finalised_by_tool() { interposer().finalised_by_tool(); }

std::uint64_t exchanges_come() { return come; }

void passed_by(const char* name, const void* next) { interposer().passed_by(name, next); }

void* tool_after_this(const char* name) { return interposer().library().tool_after_this(name); }

}  // namespace alm::mpi::entry
