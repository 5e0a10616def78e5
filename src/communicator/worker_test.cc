#include "communicator/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace alm::communicator {
namespace {

TEST(Worker, CarriesOutInOrder) {
  std::vector<int> done;
  Worker worker;
  for (int i = 0; i < 100; ++i) worker.queue([&done, i] { done.push_back(i); });
  worker.drain();
  EXPECT_TRUE(worker.idle());
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(Worker, IsNotIdleWhileATaskRuns) {
  std::promise<void> begun, go_on;
  Worker worker;
  worker.queue([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  EXPECT_FALSE(worker.idle());
  go_on.set_value();
  worker.drain();
  EXPECT_TRUE(worker.idle());
}

TEST(Worker, EndsWhenAllIsDone) {
  std::atomic<int> done = 0;
  {
    Worker worker;
    for (int i = 0; i < 10; ++i) worker.queue([&done] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

// What a task holds may belong to what the next step gives back.
TEST(Worker, ATaskIsGoneBeforeItCountsAsDone) {
  auto held = std::make_shared<int>(1);
  Worker worker;
  worker.queue([held] { EXPECT_EQ(*held, 1); });
  worker.drain();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace alm::communicator
