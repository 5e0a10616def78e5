// Measures round trips to other hosts without a process there: the host's kernel answers a datagram
// for a port at which nobody listens (ICMP "port unreachable"). The answer is read from the error
// queue with the kernel's time stamp, so that waiting for a processor counts at neither end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/io/address.h"

namespace alm::io {

// Decides which host to ask when: each a few times, few at once, so that questions fill no queue.
// Sans-IO.
class Echoes {
 public:
  static constexpr std::uint32_t kTries = 3;  // for each host, at most
  static constexpr base::Nanos kPatiences = 20;

  struct Manner {
    base::Nanos patience = 0;    // how long to wait for an answer
    base::Nanos limit = 0;       // all questions end after that; 0: after so many patiences
    std::size_t under_way = 32;  // at once
    std::uint32_t tries = kTries;
    // Ends when one question is not answered: kernels answer a few at a time, or none.
    bool ends_in_silence = false;
    std::uint32_t datagram_bytes = 64;
  };

  struct Question {
    std::uint32_t host = 0, attempt = 0;
    bool operator==(const Question&) const = default;
  };

  Echoes(std::uint32_t hosts, std::uint32_t self, base::Nanos now, const Manner& manner);

  // The question to ask now; nothing: wait until deadline().
  std::optional<Question> next(base::Nanos now);
  void answered(Question question, base::Nanos round_trip);
  bool done(base::Nanos now) const { return now >= end_ || (asked_.empty() && next_ == all()); }
  base::Nanos deadline() const;
  // [host] the shortest round trip; 0: no answer.
  const std::vector<base::Nanos>& least() const { return least_; }

 private:
  struct Asked {
    Question question;
    base::Nanos until = 0;
  };
  std::uint64_t all() const { return std::uint64_t{manner_.tries} * (least_.size() - 1); }

  std::uint32_t self_;
  Manner manner_;
  base::Nanos end_;
  std::uint64_t next_ = 0;    // the number of the next question; every host once, then again
  std::vector<Asked> asked_;  // in the order of `until`
  std::vector<base::Nanos> least_;
};

// Asks from the address of `local`, by any port. Returns [host] the shortest round trip; 0: no
// answer, or self. Errors (kIo): no socket.
base::Result<std::vector<base::Nanos>> measure_round_trips(const Address& local,
                                                           std::span<const Address> hosts,
                                                           std::uint32_t self,
                                                           const Echoes::Manner& manner);

}  // namespace alm::io
