// The part of entry.h for requests.
#include "mpi/abi/entry.h"
#include "mpi/abi/interposer.h"
#include "mpi/abi/words.h"

namespace alm::mpi::entry {

int wait(void* request, void* status) {
  auto& self = interposer();
  self.sleep_until_complete(1, request);
  const int code = with_words<int(void*, void*)>(self.library().api().Wait)(request, status);
  return self.completed(code, request, 0);
}

int waitall(int count, void* requests, void* statuses) {
  auto& self = interposer();
  self.sleep_until_complete(count, requests);
  const int code =
      with_words<int(int, void*, void*)>(self.library().api().Waitall)(count, requests, statuses);
  return self.completed_some(code, count, nullptr, requests, statuses);
}

int waitany(int count, void* requests, int* index, void* status) {
  auto& self = interposer();
  const int code = with_words<int(int, void*, int*, void*)>(self.library().api().Waitany)(
      count, requests, index, status);
  return self.completed(code, requests, *index);
}

int waitsome(int count, void* requests, int* found, int* indices, void* statuses) {
  auto& self = interposer();
  const int code = with_words<int(int, void*, int*, int*, void*)>(self.library().api().Waitsome)(
      count, requests, found, indices, statuses);
  return self.completed_some(code, *found, indices, requests, statuses);
}

int test(void* request, int* done, void* status) {
  auto& self = interposer();
  const int code =
      with_words<int(void*, int*, void*)>(self.library().api().Test)(request, done, status);
  return *done != 0 ? self.completed(code, request, 0) : code;
}

int testall(int count, void* requests, int* done, void* statuses) {
  auto& self = interposer();
  const int code = with_words<int(int, void*, int*, void*)>(self.library().api().Testall)(
      count, requests, done, statuses);
  return *done != 0 ? self.completed_some(code, count, nullptr, requests, statuses) : code;
}

int testany(int count, void* requests, int* index, int* done, void* status) {
  auto& self = interposer();
  const int code = with_words<int(int, void*, int*, int*, void*)>(self.library().api().Testany)(
      count, requests, index, done, status);
  return *done != 0 ? self.completed(code, requests, *index) : code;
}

int testsome(int count, void* requests, int* found, int* indices, void* statuses) {
  auto& self = interposer();
  const int code = with_words<int(int, void*, int*, int*, void*)>(self.library().api().Testsome)(
      count, requests, found, indices, statuses);
  return self.completed_some(code, *found, indices, requests, statuses);
}

int start(void* request) {
  auto& self = interposer();
  return self.start(1, request,
                    [&] { return with_words<int(void*)>(self.library().api().Start)(request); });
}

int startall(int count, void* requests) {
  auto& self = interposer();
  return self.start(count, requests, [&] {
    return with_words<int(int, void*)>(self.library().api().Startall)(count, requests);
  });
}

int request_free(void* request) {
  auto& self = interposer();
  self.freeing_request(request);
  return with_words<int(void*)>(self.library().api().Request_free)(request);
}

int cancel(void* request) {
  auto& self = interposer();
  if (const auto refused = self.refuse_to_cancel(request)) return *refused;
  return with_words<int(void*)>(self.library().api().Cancel)(request);
}

}  // namespace alm::mpi::entry
