#include "communicator/nonblocking_queue.h"

#include <exception>
#include <string>
#include <utility>

namespace alm::communicator {

HeldTypes::~HeldTypes() {
  for (const job::TypeHandle type : held_) ops_.release_type(type);
}

void HeldTypes::hold(job::TypedBuffer& buffer) {
  if (ops_.hold_type(buffer)) held_.push_back(buffer.type);
}

void HeldTypes::hold(std::vector<job::TypedBuffer>& blocks) {
  job::TypeHandle last = 0;  // neighbours mostly have the same
  job::TypeHandle last_held = 0;
  for (job::TypedBuffer& block : blocks) {
    if (block.bytes() == 0) continue;
    if (block.type != last) {
      last = block.type;
      hold(block);
      last_held = block.type;
    }
    block.type = last_held;
  }
}

base::Status NonblockingQueue::begin(job::StartThread start) {
  try {
    worker_ = std::make_unique<Worker>(start);
  } catch (const std::exception& thrown) {
    return base::io_error(std::string("cannot start a thread: ") + thrown.what());
  }
  return {};
}

base::Status NonblockingQueue::add(std::function<job::Outcome()> exchange,
                                   job::RequestHandle& request) {
  auto made = mpi_->make_request(comm_, life_);
  if (!made) return made.error();
  const std::shared_ptr<job::PendingRequest> pending = std::move(made).value();
  request = pending->handle();
  worker_->queue([pending, exchange = std::move(exchange)] { pending->complete(exchange()); });
  return {};
}

void NonblockingQueue::settle() {
  if (worker_) worker_->drain();
}

}  // namespace alm::communicator
