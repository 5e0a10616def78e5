#include "mpi/abi/algorithm_variables.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/options.h"
#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

using messages::ControlVariable;
using tuning::LibraryAlgorithm;

constexpr const char* kOpenMpiSwitch = "coll_tuned_use_dynamic_rules";
constexpr const char* kOpenMpiAlgorithm = "coll_tuned_alltoall_algorithm";
constexpr const char* kOpenMpiFaultTolerance = "mpi_ft_enable";
constexpr const char* kMpichAlgorithm = "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM";
constexpr const char* kMpichOwnChoice = "auto";

// By which users tell their library what to take.
constexpr std::string_view kOfUsers[] = {
    "OMPI_MCA_coll_tuned_",      "MPIR_CVAR_ALLTOALL_",           "MPIR_PARAM_ALLTOALL_",
    "MPICH_ALLTOALL_",           "MPIR_CVAR_COLL_SELECTION_",     "MPIR_PARAM_COLL_SELECTION_",
    "MPICH_COLL_SELECTION_",     "MPIR_CVAR_COLLECTIVE_FALLBACK", "MPIR_PARAM_COLLECTIVE_FALLBACK",
    "MPICH_COLLECTIVE_FALLBACK",
};

bool user_tells() {
  const base::Environment all = base::process_environment();
  return std::any_of(std::begin(kOfUsers), std::end(kOfUsers), [&](std::string_view prefix) {
    const auto next = all.lower_bound(std::string(prefix));
    return next != all.end() && next->first.starts_with(prefix);
  });
}

// Tells a variable something for as long as this lives: an error handler of the program may leave
// the library by a C++ exception.
class Told {
 public:
  Told(const ControlVariable& variable, int value, int after)
      : variable_(variable), after_(after), told_(variable_.set(value)) {}
  ~Told() {
    if (told_) variable_.set(after_);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  bool succeeded() const { return told_; }

 private:
  const ControlVariable& variable_;
  int after_;
  bool told_;
};

// A communicator that Open MPI has made while it was told the algorithm.
class OwnCommunicator final : public job::ToldLibrary {
 public:
  OwnCommunicator(const messages::MpiApi& api, job::MpiOps& ops, job::CommHandle programs,
                  MPI_Comm own)
      : api_(api), ops_(ops), programs_(programs), own_(own) {}
  ~OwnCommunicator() override { api_.Comm_free(&own_); }

  int run(const std::function<int(job::CommHandle on)>& exchange) override {
    const int code = exchange(to_opaque(own_));
    return code == MPI_SUCCESS ? code : ops_.raise_code(programs_, code);
  }

 private:
  const messages::MpiApi& api_;
  job::MpiOps& ops_;
  job::CommHandle programs_;
  MPI_Comm own_;
};

// A variable of MPICH, set in each call.
class SetVariable final : public job::ToldLibrary {
 public:
  SetVariable(const ControlVariable& variable, int own_choice, int value, job::CommHandle comm)
      : variable_(variable), own_choice_(own_choice), value_(value), comm_(comm) {}

  // Where the program has set it since, on all ranks as MPI asks, that holds.
  int run(const std::function<int(job::CommHandle on)>& exchange) override {
    if (variable_.value() != own_choice_) return exchange(comm_);
    const Told told(variable_, value_, own_choice_);
    return exchange(comm_);
  }

 private:
  const ControlVariable& variable_;
  int own_choice_, value_;
  job::CommHandle comm_;
};

}  // namespace

tuning::AlgorithmSet AlgorithmVariables::known() {
  if (!std::exchange(looked_, true) && !look()) close();
  tuning::AlgorithmSet known;
  for (const auto& [algorithm, number] : numbers_) known.add(algorithm);
  return known;
}

bool AlgorithmVariables::look() {
  if (ops_.threads() || ops_.threads_asked_for() || user_tells()) return false;
  tools_ = messages::ToolInterface::open(api_);
  return tools_ && (look_at_mpich() || look_at_openmpi());
}

// Its numbers never change. With ULFM, ranks that are left behind on a communicator of ours would
// not learn that the program has revoked its own.
bool AlgorithmVariables::look_at_openmpi() {
  const auto tolerates = ControlVariable::find(api_, kOpenMpiFaultTolerance);
  if (tolerates && tolerates->value() != 0) return false;
  switch_ = ControlVariable::find(api_, kOpenMpiSwitch);
  algorithm_ = ControlVariable::find(api_, kOpenMpiAlgorithm);
  if (!switch_ || !algorithm_) return false;
  if (switch_->value() != 0 || algorithm_->value() != 0) return false;
  if (!switch_->set(0) || !algorithm_->set(0)) return false;
  numbers_ = {{LibraryAlgorithm::kLinear, 1},
              {LibraryAlgorithm::kPairwise, 2},
              {LibraryAlgorithm::kBruck, 3},
              {LibraryAlgorithm::kLinearSync, 4}};
  return true;
}

bool AlgorithmVariables::look_at_mpich() {
  algorithm_ = ControlVariable::find(api_, kMpichAlgorithm);
  if (!algorithm_) return false;
  const auto own_choice = algorithm_->value_of(kMpichOwnChoice);
  if (!own_choice || algorithm_->value() != own_choice || !algorithm_->set(*own_choice)) {
    return false;
  }
  own_choice_ = *own_choice;
  const std::pair<LibraryAlgorithm, const char*> names[] = {
      {LibraryAlgorithm::kBruck, "brucks"},
      {LibraryAlgorithm::kPairwise, "pairwise"},
      {LibraryAlgorithm::kScattered, "scattered"}};
  for (const auto& [algorithm, name] : names) {
    if (const auto number = algorithm_->value_of(name)) numbers_[algorithm] = *number;
  }
  return true;
}

base::Result<std::unique_ptr<job::ToldLibrary>> AlgorithmVariables::tell(
    job::CommHandle comm, tuning::LibraryAlgorithm algorithm) {
  const int number = numbers_.at(algorithm);
  if (!switch_) {
    return std::unique_ptr<job::ToldLibrary>(
        std::make_unique<SetVariable>(*algorithm_, own_choice_, number, comm));
  }
  const auto programs = from_opaque<MPI_Comm>(comm);
  int rank = 0;
  api_.Comm_rank(programs, &rank);
  MPI_Comm own = api_.comm_null;
  // Where the program has set one since, that holds.
  const bool untouched = switch_->value() == 0 && algorithm_->value() == 0;
  bool told = false;
  int code = MPI_SUCCESS;
  {
    std::optional<Told> number_told, switch_told;
    if (untouched) {
      told = number_told.emplace(*algorithm_, number, 0).succeeded() &&
             switch_told.emplace(*switch_, 1, 0).succeeded();
    }
    code = api_.Comm_split(programs, 0, rank, &own);
  }
  if (code != MPI_SUCCESS) {
    return base::io_error("MPI_Comm_split failed: no communicator for an algorithm of the library");
  }
  api_.Comm_set_errhandler(own, api_.errors_return);
  auto made = std::make_unique<OwnCommunicator>(api_, ops_, comm, own);
  if (!told) return base::io_error("a control variable of the MPI library cannot be set any more");
  return std::unique_ptr<job::ToldLibrary>(std::move(made));
}

void AlgorithmVariables::close() {
  numbers_.clear();
  switch_.reset();
  algorithm_.reset();
  tools_.reset();
}

}  // namespace alm::mpi
