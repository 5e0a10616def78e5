// For tests: an MPI library for point-to-point messages between ranks that are threads of this
// process. A message of more than `eager_bytes` is under way until it is received. Any call can be
// made to fail once.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "messages/io/mpi_api.h"

namespace alm::messages {

class MpiTestLibrary {
 public:
  struct Sent {
    int from, to, tag;
    std::size_t bytes;
  };

  explicit MpiTestLibrary(std::uint32_t ranks) : unmatched_(ranks), posted_(ranks) {
    assert(library_ == nullptr);
    library_ = this;
  }
  ~MpiTestLibrary() { library_ = nullptr; }
  MpiTestLibrary(const MpiTestLibrary&) = delete;
  MpiTestLibrary& operator=(const MpiTestLibrary&) = delete;

  std::size_t eager_bytes = 1000;

  static MPI_Comm comm() { return handle<MPI_Comm>(1); }
  static MpiApi api();

  // Runs body(rank) on a thread for each rank. MPI calls of a thread are those of its rank.
  void run(const std::function<void(int rank)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(posted_.size()); ++rank) {
      threads.emplace_back([&body, rank] {
        acting_ = rank;
        body(rank);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  // MPI calls of this thread are those of this rank from here on.
  static void act_as(int rank) { acting_ = rank; }

  // Call number `number`, from 1 on, of `function` by `rank` fails.
  void fail(int rank, const std::string& function, int number) {
    failing_ = {rank, function, number};
  }

  // Messages to this rank are matched, but their data does not move until thaw().
  void freeze(int to) {
    const std::lock_guard lock(mutex_);
    frozen_ = to;
  }
  void thaw() {
    const std::lock_guard lock(mutex_);
    frozen_ = -1;
    for (const auto& [send, receive] : ice_) move(send, receive);
    ice_.clear();
  }

  // The requests of a rank that are pending.
  std::size_t active(int rank) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        requests_.begin(), requests_.end(),
        [&](const Request& one) { return one.rank == rank && !one.done && !one.freed; }));
  }
  std::vector<Sent> sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

 private:
  static constexpr int kInjected = MPI_ERR_INTERN;

  struct Request {
    bool send = false;
    int rank = 0, peer = 0, tag = 0;
    const std::byte* from = nullptr;
    std::byte* into = nullptr;
    std::size_t bytes = 0;  // sent; or room
    std::vector<std::byte> copy = {};
    bool matched = false, done = false, freed = false;
    int error = MPI_SUCCESS, source = 0, got_tag = 0;
    std::size_t got = 0;
  };
  struct Failing {
    int rank = -1;
    std::string function;
    int number = 0;
  };

  template <class Handle>
  static Handle handle(std::uintptr_t word) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(word);
    } else {
      return static_cast<Handle>(word);
    }
  }
  template <class Handle>
  static std::size_t word(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<std::uintptr_t>(handle);
    } else {
      return static_cast<std::size_t>(handle);
    }
  }
  static MPI_Request null() { return handle<MPI_Request>(0); }

  static void set_count(MPI_Status& status, std::size_t bytes) {
#if defined(OPEN_MPI)
    status._ucount = bytes;
#else
    status.count_lo = static_cast<int>(bytes);
#endif
  }
  static int count_of(const MPI_Status& status) {
#if defined(OPEN_MPI)
    return static_cast<int>(status._ucount);
#else
    return status.count_lo;
#endif
  }

  // Called with the lock held.
  bool fails(const char* function) {
    if (failing_.rank != acting_ || failing_.function != function) return false;
    return --failing_.number == 0;
  }
  Request& of(MPI_Request request) { return requests_[word(request) - 1]; }
  std::size_t add(Request request) {
    requests_.push_back(std::move(request));
    return requests_.size() - 1;
  }
  static bool fits(const Request& receive, const Request& send) {
    return (receive.peer == MPI_ANY_SOURCE || receive.peer == send.rank) &&
           (receive.tag == MPI_ANY_TAG || receive.tag == send.tag);
  }
  void match(std::size_t send, std::size_t receive) {
    requests_[send].matched = requests_[receive].matched = true;
    if (requests_[receive].rank == frozen_) {
      ice_.emplace_back(send, receive);
    } else {
      move(send, receive);
    }
  }
  void move(std::size_t send, std::size_t receive) {
    Request& out = requests_[send];
    Request& in = requests_[receive];
    in.source = out.rank;
    in.got_tag = out.tag;
    in.got = std::min(out.bytes, in.bytes);
    if (out.bytes > in.bytes) in.error = MPI_ERR_TRUNCATE;
    if (in.got > 0) std::memcpy(in.into, out.from, in.got);
    in.done = out.done = true;
  }
  void fill(const Request& request, MPI_Status& status) {
    status.MPI_SOURCE = request.source;
    status.MPI_TAG = request.got_tag;
    set_count(status, request.got);
  }

  int isend(const void* data, int bytes, int to, int tag, MPI_Request* made) {
    const std::lock_guard lock(mutex_);
    if (fails("Isend")) return kInjected;
    Request request{.send = true, .rank = acting_, .peer = to, .tag = tag};
    request.bytes = static_cast<std::size_t>(bytes);
    request.from = static_cast<const std::byte*>(data);
    if (request.bytes <= eager_bytes && bytes > 0) {
      request.copy.assign(request.from, request.from + bytes);
    }
    const std::size_t send = add(std::move(request));
    Request& one = requests_[send];
    if (one.bytes <= eager_bytes) {
      one.from = one.copy.data();
      one.done = true;
    }
    *made = handle<MPI_Request>(send + 1);
    sent_.push_back({acting_, to, tag, one.bytes});
    auto& posted = posted_[static_cast<std::size_t>(to)];
    const auto found = std::find_if(posted.begin(), posted.end(), [&](std::size_t receive) {
      return fits(requests_[receive], one);
    });
    if (found == posted.end()) {
      unmatched_[static_cast<std::size_t>(to)].push_back(send);
    } else {
      const std::size_t receive = *found;
      posted.erase(found);
      match(send, receive);
    }
    return MPI_SUCCESS;
  }
  int irecv(void* data, int bytes, int from, int tag, MPI_Request* made) {
    const std::lock_guard lock(mutex_);
    if (fails("Irecv")) return kInjected;
    Request request{.send = false, .rank = acting_, .peer = from, .tag = tag};
    request.into = static_cast<std::byte*>(data);
    request.bytes = static_cast<std::size_t>(bytes);
    const std::size_t receive = add(std::move(request));
    *made = handle<MPI_Request>(receive + 1);
    auto& come = unmatched_[static_cast<std::size_t>(acting_)];
    const auto found = std::find_if(come.begin(), come.end(), [&](std::size_t send) {
      return fits(requests_[receive], requests_[send]);
    });
    if (found == come.end()) {
      posted_[static_cast<std::size_t>(acting_)].push_back(receive);
    } else {
      const std::size_t send = *found;
      come.erase(found);
      match(send, receive);
    }
    return MPI_SUCCESS;
  }
  int iprobe(int from, int tag, int* found, MPI_Status* status) {
    const std::lock_guard lock(mutex_);
    if (fails("Iprobe")) return kInjected;
    const Request wanted{.send = false, .rank = acting_, .peer = from, .tag = tag};
    *found = 0;
    for (const std::size_t send : unmatched_[static_cast<std::size_t>(acting_)]) {
      const Request& one = requests_[send];
      if (!fits(wanted, one)) continue;
      *found = 1;
      status->MPI_SOURCE = one.rank;
      status->MPI_TAG = one.tag;
      set_count(*status, one.bytes);
      break;
    }
    return MPI_SUCCESS;
  }
  int testsome(int count, MPI_Request* all, int* finished, int* which, MPI_Status* statuses) {
    const std::lock_guard lock(mutex_);
    if (fails("Testsome")) return kInjected;
    *finished = 0;
    bool any = false;
    bool wrong = false;
    for (int i = 0; i < count; ++i) {
      if (all[i] == null()) continue;
      any = true;
      const Request& one = of(all[i]);
      if (!one.done) continue;
      MPI_Status& status = statuses[*finished];
      fill(one, status);
      status.MPI_ERROR = one.error;
      wrong = wrong || one.error != MPI_SUCCESS;
      which[(*finished)++] = i;
      all[i] = null();
    }
    if (!any) *finished = MPI_UNDEFINED;
    return wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
  }
  int test(MPI_Request* request, int* done) {
    const std::lock_guard lock(mutex_);
    if (fails("Test")) return kInjected;
    *done = *request == null() || of(*request).done ? 1 : 0;
    if (*done != 0) *request = null();
    return MPI_SUCCESS;
  }
  int cancel(MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    if (fails("Cancel")) return kInjected;
    Request& one = of(*request);
    if (one.matched || one.send) return MPI_SUCCESS;
    auto& posted = posted_[static_cast<std::size_t>(one.rank)];
    posted.erase(std::find(posted.begin(), posted.end(), word(*request) - 1));
    one.done = true;
    return MPI_SUCCESS;
  }
  int free(MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    if (fails("Request_free")) return kInjected;
    of(*request).freed = true;
    *request = null();
    return MPI_SUCCESS;
  }
  int count(const MPI_Status* status, int* bytes) {
    const std::lock_guard lock(mutex_);
    if (fails("Get_count")) return kInjected;
    *bytes = count_of(*status);
    return MPI_SUCCESS;
  }

  inline static MpiTestLibrary* library_ = nullptr;  // MPI's functions have no place for it
  inline static thread_local int acting_ = 0;

  std::mutex mutex_;
  std::deque<Request> requests_;
  std::vector<std::deque<std::size_t>> unmatched_, posted_;  // [rank], of requests_, in order
  std::vector<std::pair<std::size_t, std::size_t>> ice_;
  int frozen_ = -1;
  Failing failing_;
  std::vector<Sent> sent_;
};

inline MpiApi MpiTestLibrary::api() {
  MpiApi api;
  api.request_null = null();
  api.comm_null = handle<MPI_Comm>(0);
  api.byte = handle<MPI_Datatype>(1);
  api.Isend = [](const void* data, int count, MPI_Datatype, int to, int tag, MPI_Comm,
                 MPI_Request* made) { return library_->isend(data, count, to, tag, made); };
  api.Irecv = [](void* data, int count, MPI_Datatype, int from, int tag, MPI_Comm,
                 MPI_Request* made) { return library_->irecv(data, count, from, tag, made); };
  api.Iprobe = [](int from, int tag, MPI_Comm, int* found, MPI_Status* status) {
    return library_->iprobe(from, tag, found, status);
  };
  api.Testsome = [](int count, MPI_Request* all, int* finished, int* which, MPI_Status* statuses) {
    return library_->testsome(count, all, finished, which, statuses);
  };
  api.Test = [](MPI_Request* request, int* done, MPI_Status*) {
    return library_->test(request, done);
  };
  api.Cancel = [](MPI_Request* request) { return library_->cancel(request); };
  api.Request_free = [](MPI_Request* request) { return library_->free(request); };
  api.Get_count = [](const MPI_Status* status, MPI_Datatype, int* bytes) {
    return library_->count(status, bytes);
  };
  api.Error_class = [](int code, int* error_class) {
    *error_class = code;
    return MPI_SUCCESS;
  };
  api.Comm_free = [](MPI_Comm* comm) {
    *comm = handle<MPI_Comm>(0);
    return MPI_SUCCESS;
  };
  return api;
}

}  // namespace alm::messages
