// Exchanges for allemande.api. Python brings the allgather and the progress function; the
// interpreter lock is free while an exchange runs and taken for each of them.
#include "capi/exchange.h"

#include <allemande/allemande.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "transport/io/endpoint.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

// Bytes of a Python object, kept alive and in place.
class Buffer {
 public:
  Buffer(nb::handle object, bool writable) {
    const int flags = writable ? PyBUF_WRITABLE : PyBUF_SIMPLE;
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(view_.buf); }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(view_.len); }

 private:
  Py_buffer view_{};
};

using Blocks = std::vector<std::tuple<std::uint64_t, std::uint64_t>>;  // (displacement, bytes)

using Allgather = nb::typed<nb::callable, nb::object(nb::bytes)>;

class PyExchange {
 public:
  PyExchange(std::uint32_t ranks, std::uint32_t self, Allgather allgather, nb::object progress,
             std::vector<std::string> options)
      : allgather_(std::move(allgather)), progress_(std::move(progress)) {
    if (ranks < 1 || ranks > ALM_RANKS_MAX || self >= ranks) {
      throw RaisedError{base::bad_input("an exchange has 1 to 65535 ranks, counted from 0")};
    }
    capi::Settings settings;
    settings.ranks = ranks;
    settings.self = self;
    settings.options = std::move(options);
    settings.allgather = [this, ranks](const void* mine, std::size_t bytes, void* all) {
      return gather(ranks, mine, bytes, all);
    };
    settings.progress = [this] { call_progress(); };
    exchange_ = std::make_shared<capi::Exchange>(std::move(settings));
  }
  ~PyExchange() { close(); }
  PyExchange(const PyExchange&) = delete;
  PyExchange& operator=(const PyExchange&) = delete;

  int open() {
    return guarded([&](capi::Exchange& exchange) {
      int code = ALM_OK;
      {
        const nb::gil_scoped_release release;
        code = exchange.open();
      }
      allgather_.reset();  // it may hold what must not outlive the bring-up
      return code;
    });
  }

  int alltoall(nb::handle send, nb::handle recv, std::uint64_t bytes) {
    return guarded([&](capi::Exchange& exchange) {
      std::optional<Buffer> from;
      if (!send.is_none()) from.emplace(send, false);
      const Buffer to(recv, true);
      const std::uint64_t room = from ? std::min(from->bytes(), to.bytes()) : to.bytes();
      if (bytes > room / exchange.ranks()) {
        throw RaisedError{base::bad_input("the buffers are too small for a block per rank")};
      }
      const nb::gil_scoped_release release;
      return exchange.alltoall(kAlltoall, from ? from->data() : nullptr, to.data(), bytes);
    });
  }

  int alltoallv(nb::handle send, const Blocks& send_blocks, nb::handle recv,
                const Blocks& recv_blocks) {
    return guarded([&](capi::Exchange& exchange) {
      std::optional<Buffer> from;
      if (!send.is_none()) from.emplace(send, false);
      const Buffer to(recv, true);
      const auto out =
          blocks_in(exchange.ranks(), send_blocks, from ? from->bytes() : to.bytes(), "send");
      const auto in = blocks_in(exchange.ranks(), recv_blocks, to.bytes(), "recv");
      const nb::gil_scoped_release release;
      return exchange.alltoallv(kAlltoallv, from ? from->data() : nullptr, out, to.data(), in);
    });
  }

  // Waits for the other ranks' acknowledgements; nothing can be exchanged afterwards.
  void close() {
    if (!exchange_) return;
    progress_ = nb::none();  // MPI may be gone, or may not be called here
    std::shared_ptr<capi::Exchange> ending = std::move(exchange_);
    const nb::gil_scoped_release release;
    ending.reset();
  }

  // The exchange's own words may be written by a call of another thread while they are read here.
  // This copy changes only under the interpreter lock.
  std::string error() const { return exchange_ ? error_ : "the exchange is closed"; }

  std::tuple<int, std::string> counters() {
    std::string json = "{}";
    if (!exchange_) return {ALM_OK, json};
    const int code = guarded([&](capi::Exchange& exchange) {
      json = exchange.counters_json();
      return static_cast<int>(ALM_OK);
    });
    return {code, json};
  }

 private:
  static constexpr const char* kAlltoall = "allemande.alltoall";
  static constexpr const char* kAlltoallv = "allemande.alltoallv";

  template <class Call>
  int guarded(Call call) {
    const std::shared_ptr<capi::Exchange> exchange = exchange_;
    if (!exchange) return ALM_ERROR_ARGUMENT;
    const capi::Exchange::Turn turn(*exchange);
    if (!turn.mine()) return ALM_ERROR_BUSY;
    const int code = call(*exchange);
    error_ = exchange->error();
    raise_pending();
    return code;
  }

  static std::vector<capi::Block> blocks_in(std::uint32_t ranks, const Blocks& blocks,
                                            std::uint64_t bytes, const char* side) {
    if (blocks.size() != ranks) {
      throw RaisedError{base::bad_input(std::string(side) + ": one block per rank is expected")};
    }
    std::vector<capi::Block> out;
    for (const auto& [at, size] : blocks) {
      if (size > bytes || at > bytes - size) {
        throw RaisedError{base::bad_input(std::string(side) + ": a block ends behind the buffer")};
      }
      out.push_back({at, size});
    }
    return out;
  }

  // Without the interpreter lock. What Python raises is kept for the calling thread.
  int gather(std::uint32_t ranks, const void* mine, std::size_t bytes, void* all) {
    const nb::gil_scoped_acquire acquire;
    try {
      const nb::object got = allgather_(nb::bytes(mine, bytes));
      const Buffer gathered(got, false);
      if (gathered.bytes() != ranks * bytes) return 1;
      std::memcpy(all, gathered.data(), gathered.bytes());
      return 0;
    } catch (nb::python_error& error) {
      pending_.emplace(std::move(error));
      return 1;
    }
  }

  // Where another thread computes in Python, the interpreter lock comes after milliseconds: then
  // waiting for it takes no more than a tenth of the time.
  void call_progress() {
    const base::Nanos begin = io::monotonic_now();
    if (begin < next_progress_) return;
    const nb::gil_scoped_acquire acquire;
    if (progress_.is_none() || pending_) return;
    try {
      progress_();
    } catch (nb::python_error& error) {
      pending_.emplace(std::move(error));
    }
    const base::Nanos end = io::monotonic_now();
    next_progress_ = end + 9 * (end - begin);
  }

  void raise_pending() {
    if (!pending_) return;
    nb::python_error error = std::move(*pending_);
    pending_.reset();
    throw error;
  }

  nb::object allgather_, progress_;
  std::optional<nb::python_error> pending_;
  std::string error_;
  // Shared with the calls under way: closing does not pull it away from under another thread.
  std::shared_ptr<capi::Exchange> exchange_;
  base::Nanos next_progress_ = 0;
};

}  // namespace

void bind_exchange(nb::module_& m) {
  m.attr("ALM_OK") = static_cast<int>(ALM_OK);
  m.attr("ALM_ERROR_ARGUMENT") = static_cast<int>(ALM_ERROR_ARGUMENT);
  m.attr("ALM_ERROR_CONFIG") = static_cast<int>(ALM_ERROR_CONFIG);
  m.attr("ALM_ERROR_UNAVAILABLE") = static_cast<int>(ALM_ERROR_UNAVAILABLE);
  m.attr("ALM_ERROR_PEER_LOST") = static_cast<int>(ALM_ERROR_PEER_LOST);
  m.attr("ALM_ERROR_MISMATCH") = static_cast<int>(ALM_ERROR_MISMATCH);
  m.attr("ALM_ERROR_BUSY") = static_cast<int>(ALM_ERROR_BUSY);

  nb::class_<PyExchange>(m, "Exchange", "An exchange among the processes `allgather` reaches.")
      .def(
          nb::init<std::uint32_t, std::uint32_t, Allgather, nb::object, std::vector<std::string>>(),
          "ranks"_a, "rank"_a, "allgather"_a, "progress"_a.none(), "options"_a,
          "allgather(mine) returns the bytes of all ranks in rank order; progress() is called "
          "every millisecond while a call waits; options are key=value.")
      .def("open", &PyExchange::open, "Collective. An ALM_ code, as of the functions below.")
      .def("alltoall", &PyExchange::alltoall, "send"_a.none(), "recv"_a, "bytes"_a,
           "Blocks of `bytes` bytes; send None: in place.")
      .def("alltoallv", &PyExchange::alltoallv, "send"_a.none(), "send_blocks"_a, "recv"_a,
           "recv_blocks"_a, "Blocks as (displacement, bytes), one per rank; send None: in place.")
      .def("close", &PyExchange::close, "Not collective.")
      .def("error", &PyExchange::error, "What the last call that failed has to say.")
      .def("counters", &PyExchange::counters, "(code, JSON).");
}

}  // namespace alm::bindings
