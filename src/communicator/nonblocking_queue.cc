#include "communicator/nonblocking_queue.h"

#include <utility>

namespace alm::mpi {

HeldTypes::~HeldTypes() {
  for (const TypeHandle type : held_) ops_.release_type(type);
}

void HeldTypes::hold(TypedBuffer& buffer) {
  if (ops_.hold_type(buffer)) held_.push_back(buffer.type);
}

void HeldTypes::hold(std::vector<TypedBuffer>& blocks) {
  TypeHandle last = 0;  // neighbours mostly have the same
  TypeHandle last_held = 0;
  for (TypedBuffer& block : blocks) {
    if (block.bytes() == 0) continue;
    if (block.type != last) {
      last = block.type;
      hold(block);
      last_held = block.type;
    }
    block.type = last_held;
  }
}

base::Status NonblockingQueue::add(std::function<Outcome()> exchange, RequestHandle& request) {
  if (!worker_) worker_ = std::make_unique<Worker>();
  auto made = ops_.make_request(comm_, freed_);
  if (!made) return made.error();
  const std::shared_ptr<PendingRequest> pending = std::move(made).value();
  request = pending->handle();
  worker_->queue([pending, exchange = std::move(exchange)] { pending->complete(exchange()); });
  return {};
}

void NonblockingQueue::settle() {
  if (worker_) worker_->drain();
}

}  // namespace alm::mpi
