#include <gtest/gtest.h>

#include "transport/io/driver_test_cluster.h"
#include "transport/io/hops.h"

namespace alm::io {
namespace {

// Asks addresses of loopback at which nobody listens, each once. They refuse at once. Every second
// question goes out right before the driver reads its sockets.
class Once final : public HopAsker {
 public:
  static constexpr std::uint32_t kQuestions = 16;

  explicit Once(const Endpoint& endpoint) : endpoint_(const_cast<Endpoint&>(endpoint)) {}

  void begin(base::Nanos now) override { end_ = now + base::kSecond; }
  std::optional<HopQuestion> next(base::Nanos /*now*/) override {
    if (asked_ == kQuestions || asked_ > answers_) return std::nullopt;
    return question();
  }
  void answered(const HopAnswer& /*answer*/) override { ++answers_; }
  bool done(base::Nanos now) const override {
    if (asked_ < kQuestions && asked_ == answers_) endpoint_.ask(question());
    return answers_ == kQuestions || now >= end_;
  }
  base::Nanos deadline() const override { return end_; }

  std::uint32_t answers() const { return answers_; }

 private:
  HopQuestion question() const {
    return {0, make_address("127.0.1." + std::to_string(++asked_), kDiscardPort).value(), 1};
  }

  Endpoint& endpoint_;
  base::Nanos end_ = 0;
  mutable std::uint32_t asked_ = 0;
  std::uint32_t answers_ = 0;
};

TEST(Driver, ReadingTheSocketsLosesNoAnswerOfARouter) {
  const auto driver = Driver::create(open_endpoint(), true, 1).value();
  Once once(driver->endpoint());
  driver->ask_routers(once);
  EXPECT_EQ(once.answers(), Once::kQuestions);
}

}  // namespace
}  // namespace alm::io
