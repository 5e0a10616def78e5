// What one persistent call at a time is carried by: the exchanges of a further Communicator over
// the ranks of the program's, and the thread that carries out each start.
#pragma once

#include <cstdint>
#include <memory>

#include "communicator/communicator.h"
#include "communicator/persistent_call.h"

namespace alm::communicator {

class PersistentLane {
 public:
  // Collective over `comm`, which is that of `parent`.
  PersistentLane(job::Job& job, job::CommHandle comm, const Communicator& parent);

  // Whether blocking calls on `parent` have left the library no better way for blocks of this size.
  static bool is_wanted(const Communicator& parent, std::uint64_t bytes);

  // Equal on all ranks. `blocks`: of any size.
  bool carries(bool blocks) const;
  // From now on the thread carries out each start of `request`, in place of what it did before. It
  // looks for one whenever look() is called, and now and then. It takes the way that `parent` has
  // found.
  void keep(const courier::AlltoallCall& call, const Communicator& parent,
            std::shared_ptr<job::PersistentRequest> request);
  void keep(const courier::BlockCall& call, std::shared_ptr<job::PersistentRequest> request);
  void end() { own_.queue_.unwatch(); }
  void look() { own_.queue_.look(); }
  // Waits for what has been started.
  void settle() { own_.queue_.settle(); }

  Communicator& exchanges() { return own_; }

 private:
  template <class Stage, class Carry>
  void watch(const char* function, std::shared_ptr<job::PersistentRequest> request, Stage stage,
             Carry carry);

  job::Job& job_;
  Communicator own_;
};

}  // namespace alm::communicator
