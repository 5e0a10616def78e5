// Finds the MPI library that this process has loaded, without linking to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "messages/io/mpi_api.h"

namespace alm::mpi {

class Library {
 public:
  // Null while no MPI library is loaded (mpirun and the shell inherit LD_PRELOAD too).
  static std::unique_ptr<Library> find();

  const messages::MpiApi& api() const { return api_; }
  const std::string& path() const { return path_; }

  // Why calls can only be passed through: the library has another ABI, or lacks functions. Empty:
  // it has all that is needed.
  const std::string& unusable() const { return unusable_; }

  // MPICH before 4.2 over UCX: a rank in MPI_Finalize no longer answers ranks whose connections to
  // it are still being made, and they wait for ever (pmodels/mpich#6596).
  bool finalises_deaf() const;

  // Whether the code at `address` belongs to the MPI library or to one of its plug-ins.
  bool contains(const void* address) const;

  // The next definition of `name` after allemande in the search order, if another tool provides it;
  // null if it is the MPI library's own.
  void* tool_after_this(const char* name) const;

 private:
  Library() = default;
  void resolve(void* handle);

  std::string path_;
  std::string unusable_;
  std::uintptr_t base_ = 0;
  messages::MpiApi api_;
};

}  // namespace alm::mpi
