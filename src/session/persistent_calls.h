// The persistent calls of a process. Ranks may start those of one communicator in different orders,
// so each has exchanges of its own, those of a further Communicator over the same ranks: its
// *lane*. Bringing it up takes some 20 ms; when the program has freed the request, the next call on
// the program's communicator takes the lane over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "communicator/communicator.h"
#include "communicator/persistent_lane.h"
#include "job/job.h"

namespace alm::session {

class PersistentCalls {
 public:
  explicit PersistentCalls(job::Job& job) : job_(job) {}

  // Collective over the communicator of `call`, which is `parent`. Returns the MPI error code;
  // nothing, on all ranks: the library carries the call.
  std::optional<int> make(const courier::AlltoallCall& call, communicator::Communicator& parent,
                          job::RequestHandle& request);
  std::optional<int> make(const courier::BlockCall& call, communicator::Communicator& parent,
                          job::RequestHandle& request);

  // The program has freed the communicator of `parent`; requests made on it may live on.
  void leave(const communicator::Communicator& parent);
  // Ends lanes that nobody can take over any more.
  void reap();

  // In MPI_Finalize, in this order.
  void settle();
  void raise_late_failures();
  void close();

 private:
  struct Lane {
    const communicator::Communicator* parent = nullptr;  // null: the program has freed it
    std::unique_ptr<communicator::PersistentLane> persistent;
    std::shared_ptr<job::PersistentRequest> request;

    bool failed() const { return persistent->exchanges().failure().happened(); }
    // Nobody starts it any more. A lane that has failed answers starts with its error until then.
    bool over() const {
      return request == nullptr || (request->freed() && persistent->exchanges().idle());
    }
    bool free() const { return !failed() && over(); }
  };
  struct Subject {
    job::CommHandle comm = 0;
    const char* function = "";
    bool blocks = false;  // of any size
    bool wanted = false;  // on this rank
  };
  // Sets the call up on a lane.
  using Keep = std::function<void(communicator::PersistentLane& lane,
                                  std::shared_ptr<job::PersistentRequest> request)>;

  std::optional<int> make(const Subject& subject, communicator::Communicator& parent,
                          const Keep& keep, job::RequestHandle& request);
  base::Result<Lane*> take_lane(const Subject& subject, communicator::Communicator& parent);
  Lane* add_lane(const Subject& subject, communicator::Communicator& parent);
  std::vector<Lane*> lanes_of(const communicator::Communicator& parent);

  job::Job& job_;
  std::mutex mutex_;  // guards lanes_; never held while MPI is called
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace alm::session
