// Control variables of the MPI library (MPI_T): what users set by OMPI_MCA_... and MPIR_CVAR_...
#pragma once

#include <optional>
#include <string>

#include "messages/io/mpi_api.h"

namespace alm::messages {

// MPI counts who uses it: the program may do so as well.
class ToolInterface {
 public:
  // Nothing: the library has none.
  static std::optional<ToolInterface> open(const MpiApi& api);
  ToolInterface(ToolInterface&& other) noexcept;
  ToolInterface& operator=(ToolInterface&& other) noexcept;
  ~ToolInterface();

 private:
  explicit ToolInterface(const MpiApi& api) : api_(&api) {}

  const MpiApi* api_;  // null: moved from
};

// An integer that the library may be told while it runs.
class ControlVariable {
 public:
  // Nothing: the library has none of this name that may be set. Precondition: there is a
  // ToolInterface for as long as this lives.
  static std::optional<ControlVariable> find(const MpiApi& api, const char* name);
  ControlVariable(ControlVariable&& other) noexcept;
  ControlVariable& operator=(ControlVariable&& other) noexcept;
  ~ControlVariable();

  std::optional<int> value() const;
  bool set(int value) const;
  // The value that has this name. MPICH describes them in lines such as "brucks - Force ...", from
  // 0 on.
  std::optional<int> value_of(const std::string& name) const;

 private:
  ControlVariable(const MpiApi& api, int index) : api_(&api), index_(index) {}

  const MpiApi* api_;
  int index_;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
};

}  // namespace alm::messages
