// The part of session.h for nonblocking calls and persistent ones.
#include "session/session.h"

namespace alm::session {

std::optional<int> Session::start(const courier::AlltoallCall& call, job::RequestHandle& request) {
  if (!starting() || call.bytes() == 0) return std::nullopt;
  return begin(call, request,
               [&](communicator::Communicator& found) { return found.start(call, request); });
}

std::optional<int> Session::start_blocks(const courier::BlockCall& call,
                                         job::RequestHandle& request) {
  if (!starting()) return std::nullopt;
  return begin(call, request, [&](communicator::Communicator& found) {
    return found.start_blocks(call, request);
  });
}

std::optional<int> Session::start_neighbours(const courier::NeighbourCall& call,
                                             job::RequestHandle& request) {
  if (!starting()) return std::nullopt;
  return begin(call, request, [&](communicator::Communicator& found) {
    return found.start_neighbours(call, request);
  });
}

template <class Call, class Start>
std::optional<int> Session::begin(const Call& call, job::RequestHandle& request, Start start) {
  reap();
  const auto counted = [this](std::optional<int> code) {
    if (!code) job_.stats.update([](job::StatsRecord& stats) { ++stats.passed_through; });
    return code;
  };
  if constexpr (requires { call.persistent; }) {
    if (call.persistent) {
      const job::Doing::InCall in(job_.doing, call.name);
      communicator::Communicator* parent = nullptr;
      if (const int met = find_or_create(call.comm, parent); met != job::kMpiSuccess) return met;
      if (parent == nullptr || !(parent->accelerates() || parent->waits() != nullptr)) {
        return counted(std::nullopt);
      }
      if (parent->failure().is_final()) return parent->failure().raise();
      return counted(persistent_.make(call, *parent, request));
    }
  }
  void* const open = mpi_.state(call.comm);
  if (open == nullptr) return counted(std::nullopt);
  return counted(start(*static_cast<communicator::Communicator*>(open)));
}

}  // namespace alm::session
