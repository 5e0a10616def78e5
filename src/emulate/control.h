// Requests that a lab sends to its emulator while it runs (lab/degrade.py).
//
//   link N RATE LOSS   link N of the cluster file has this part of its rate and loses this part
//   withdrawn N,N,.. routes are made anew without these links; `-`: with all links
//
// The answer is `ok`, or `error` and what is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace alm::emulate {

struct SetLink {
  std::uint32_t link = 0;
  double rate = 1, loss = 0;
};
struct Withdraw {
  std::vector<bool> dead;  // by link
};
using Request = std::variant<SetLink, Withdraw>;

// `links`: how many the cluster has.
base::Result<Request> parse_request(std::string_view text, std::uint32_t links);

// A Unix socket of packets: one request, one answer, and the connection ends.
class ControlSocket {
 public:
  static base::Result<std::unique_ptr<ControlSocket>> listen(const std::string& directory);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Takes a request that has come; answer() must follow. False: there is none.
  bool take(std::string& request);
  void answer(const std::string& text);
  // The descriptor to wait on: the connection, if there is one, else the listening socket.
  int descriptor() const { return asking_ >= 0 ? asking_ : listening_; }

 private:
  ControlSocket() = default;
  int listening_ = -1, asking_ = -1;
};

}  // namespace alm::emulate
