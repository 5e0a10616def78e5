#include "communicator/persistent_call.h"

#include <thread>

#include "transport/io/endpoint.h"

namespace alm::communicator {
namespace {

// Starts that are not seen are found by looking: the first one so late, all others soon.
constexpr base::Nanos kLookSeldom = 100 * base::kMillisecond;
constexpr base::Nanos kLookOften = base::kMillisecond;
constexpr base::Nanos kLookNoMore = 3600 * base::kSecond;
// A start that was seen shows at once, where it was one of this request.
constexpr base::Nanos kShowsWithin = 10 * base::kMillisecond;

}  // namespace

base::Nanos PersistentWatch::look(bool called) {
  const bool announced = request_->announced();
  if (find(announced)) {
    unseen_ = unseen_ || !(announced || called);
    request_->complete(exchange_());
  } else if (announced) {
    request_->not_found();
  }
  if (request_->freed()) return kLookNoMore;
  return unseen_ ? kLookOften : kLookSeldom;
}

bool PersistentWatch::find(bool announced) {
  const base::Nanos limit = io::monotonic_now() + (announced ? kShowsWithin : 0);
  while (!request_->started()) {
    if (io::monotonic_now() >= limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace alm::communicator
