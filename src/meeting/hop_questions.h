// Asks questions about hops, a few at once so that they fill no queue, and repeats those without an
// answer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "meeting/route_search.h"
#include "transport/io/hops.h"

namespace alm::meeting {

class HopQuestions final : public io::HopAsker {
 public:
  static constexpr std::size_t kUnderWay = 16;
  static constexpr std::uint32_t kTries = 3;
  static constexpr std::uint32_t kPatiences = 20;

  // `patience`: how long to wait for an answer. All questions end after kPatiences times that, and
  // after kTries times if nobody answers. `search`: says which hosts need not be asked about any
  // more; null: each question is asked.
  HopQuestions(std::span<const io::HopQuestion> questions, base::Nanos patience,
               RouteSearch* search = nullptr);

  void begin(base::Nanos now) override;
  std::optional<io::HopQuestion> next(base::Nanos now) override;
  void answered(const io::HopAnswer& answer) override;
  bool done(base::Nanos now) const override {
    return now >= end_ || (!heard_ && now >= silent_) || (queue_.empty() && asked_.empty());
  }
  base::Nanos deadline() const override;
  // [question] the router; length 0: none has answered.
  const std::vector<io::Address>& routers() const { return routers_; }

 private:
  struct Asked {
    std::size_t question = 0;
    base::Nanos until = 0;
  };
  void expire(base::Nanos now);

  std::span<const io::HopQuestion> questions_;
  RouteSearch* search_;
  base::Nanos patience_, end_ = 0;
  base::Nanos silent_ = 0;  // the end if nobody answers
  bool heard_ = false;
  std::vector<std::size_t> queue_;  // questions to ask, the next one last
  std::vector<Asked> asked_;        // in the order of `until`
  std::vector<std::uint32_t> tries_;
  std::vector<io::Address> routers_;
};

}  // namespace alm::meeting
