#include "mpi/abi/algorithm_variables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "job/fake_mpi_test_ops.h"
#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

using tuning::LibraryAlgorithm;

constexpr const char* kMpich = "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM";
constexpr const char* kSwitch = "coll_tuned_use_dynamic_rules";
constexpr const char* kAlgorithm = "coll_tuned_alltoall_algorithm";

// What an error handler of the program does that leaves by an exception.
struct Left : std::runtime_error {
  Left() : std::runtime_error("left") {}
};

// The variables of a library that is none.
struct Variables {
  std::vector<std::string> names;
  std::map<std::string, int> values;
  std::map<std::string, int> while_it_split;
  bool split_throws = false;
  std::string refuses;  // the variable that cannot be set to anything but 0

  explicit Variables(std::vector<std::string> of) : names(std::move(of)) {
    for (const std::string& name : names) values[name] = 0;
  }
  int& at(MPI_T_cvar_handle handle) {
    return values.at(names[static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(handle)) - 1]);
  }
};

Variables* variables = nullptr;

int get_index(const char* name, int* index) {
  for (std::size_t i = 0; i < variables->names.size(); ++i) {
    if (variables->names[i] != name) continue;
    *index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_ERR_OTHER;
}

int write(MPI_T_cvar_handle handle, const void* value) {
  const int wanted = *static_cast<const int*>(value);
  int& own = variables->at(handle);
  if (wanted != 0 && variables->refuses != "" && &own == &variables->values[variables->refuses]) {
    return MPI_ERR_OTHER;
  }
  own = wanted;
  return MPI_SUCCESS;
}

int split(MPI_Comm, int, int, MPI_Comm*) {
  variables->while_it_split = variables->values;
  if (variables->split_throws) throw Left();
  return MPI_SUCCESS;
}

messages::MpiApi make_api() {
  messages::MpiApi api;
  api.Query_thread = [](int* level) { return *level = MPI_THREAD_SINGLE, MPI_SUCCESS; };
  api.T_init_thread = [](int, int* provided) { return *provided = 0, MPI_SUCCESS; };
  api.T_finalize = [] { return MPI_SUCCESS; };
  api.T_cvar_get_index = get_index;
  api.T_cvar_handle_alloc = [](int index, void*, MPI_T_cvar_handle* handle, int* count) {
    *handle = reinterpret_cast<MPI_T_cvar_handle>(static_cast<std::intptr_t>(index) + 1);
    return *count = 1, MPI_SUCCESS;
  };
  api.T_cvar_handle_free = [](MPI_T_cvar_handle*) { return MPI_SUCCESS; };
  api.T_cvar_read = [](MPI_T_cvar_handle handle, void* value) {
    return *static_cast<int*>(value) = variables->at(handle), MPI_SUCCESS;
  };
  api.T_cvar_write = write;
  api.T_cvar_get_info = [](int, char*, int*, int*, MPI_Datatype*, MPI_T_enum*, char* text, int*,
                           int*, int*) {
    std::strcpy(text, "Which one\nauto - Own choice\nbrucks - Force it\n");
    return MPI_SUCCESS;
  };
  api.Comm_rank = [](MPI_Comm, int* rank) { return *rank = 0, MPI_SUCCESS; };
  api.Comm_split = split;
  api.Comm_set_errhandler = [](MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; };
  api.Comm_free = [](MPI_Comm*) { return MPI_SUCCESS; };
  return api;
}

class ToldAlgorithms : public ::testing::Test {
 protected:
  ~ToldAlgorithms() override { variables = nullptr; }

  job::FakeJob job_{1};
  job::FakeMpiOps ops_{job_, 0};
  messages::MpiApi api_ = make_api();
};

// MPICH, told to take Bruck.
class ToldMpich : public ToldAlgorithms {
 protected:
  void SetUp() override {
    variables = &mpich_;
    ASSERT_TRUE(algorithms_.known().has(LibraryAlgorithm::kBruck));
    told_ = algorithms_.tell(job::FakeJob::kWorld, LibraryAlgorithm::kBruck);
  }

  Variables mpich_{{kMpich}};
  AlgorithmVariables algorithms_{api_, ops_};
  base::Result<std::unique_ptr<job::ToldLibrary>> told_ = base::io_error("not told yet");
};

TEST_F(ToldMpich, IsToldForACallAlone) {
  ASSERT_TRUE(told_);
  int in_call = 0;
  EXPECT_EQ(told_.value()->run([&](job::CommHandle) { return in_call = mpich_.values[kMpich], 7; }),
            7);
  EXPECT_EQ(in_call, 1);
  EXPECT_EQ(mpich_.values[kMpich], 0);
}

TEST_F(ToldMpich, IsToldItsOwnChoiceWhereAnErrorHandlerLeavesByAnException) {
  ASSERT_TRUE(told_);
  EXPECT_THROW(told_.value()->run([](job::CommHandle) -> int { throw Left(); }), Left);
  EXPECT_EQ(mpich_.values[kMpich], 0);
}

TEST_F(ToldMpich, WhatTheProgramHasSetSinceStays) {
  ASSERT_TRUE(told_);
  mpich_.values[kMpich] = 5;
  EXPECT_EQ(told_.value()->run([&](job::CommHandle) { return mpich_.values[kMpich]; }), 5);
  EXPECT_EQ(mpich_.values[kMpich], 5);
}

TEST_F(ToldAlgorithms, OpenMpiIsToldWhileACommunicatorIsMade) {
  for (const bool throws : {false, true}) {
    Variables openmpi({kSwitch, kAlgorithm});
    openmpi.split_throws = throws;
    variables = &openmpi;
    AlgorithmVariables algorithms(api_, ops_);
    ASSERT_TRUE(algorithms.known().has(LibraryAlgorithm::kBruck));
    const auto tell = [&] {
      return algorithms.tell(to_opaque(api_.comm_null), LibraryAlgorithm::kBruck);
    };
    if (throws) {
      EXPECT_THROW(static_cast<void>(tell()), Left);
    } else {
      EXPECT_TRUE(tell());
    }
    EXPECT_EQ(openmpi.while_it_split[kSwitch], 1);
    EXPECT_EQ(openmpi.while_it_split[kAlgorithm], 3);
    EXPECT_EQ(openmpi.values[kSwitch], 0);
    EXPECT_EQ(openmpi.values[kAlgorithm], 0);
  }
}

TEST_F(ToldAlgorithms, AVariableThatCannotBeSetIsAnError) {
  Variables openmpi({kSwitch, kAlgorithm});
  variables = &openmpi;
  AlgorithmVariables algorithms(api_, ops_);
  ASSERT_TRUE(algorithms.known().has(LibraryAlgorithm::kBruck));
  openmpi.refuses = kSwitch;
  EXPECT_FALSE(algorithms.tell(to_opaque(api_.comm_null), LibraryAlgorithm::kBruck));
  EXPECT_EQ(openmpi.values[kAlgorithm], 0);
}

}  // namespace
}  // namespace alm::mpi
