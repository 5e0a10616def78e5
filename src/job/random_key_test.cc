#include "job/random_key.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>

namespace alm::job {
namespace {

using ::testing::HasSubstr;

TEST(RandomKey, IsWhatTheSourceGives) {
  const auto key = random_key([](void* out, std::size_t bytes, unsigned) {
    std::memset(out, 0x5a, bytes);
    return static_cast<ssize_t>(bytes);
  });
  ASSERT_TRUE(key);
  EXPECT_EQ(key.value()[0], 0x5a5a5a5a5a5a5a5aU);
}

TEST(RandomKey, TheSystemGivesAnotherEachTime) {
  const auto one = random_key(system_random_bytes);
  const auto other = random_key(system_random_bytes);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one.value(), other.value());
}

TEST(RandomKey, WithoutRandomBytesIsAnErrorAndNotZeros) {
  const auto failed = random_key([](void*, std::size_t, unsigned) -> ssize_t {
    errno = ENOSYS;
    return -1;
  });
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("no random bytes"));
  EXPECT_FALSE(random_key([](void*, std::size_t, unsigned) -> ssize_t { return 3; }));
}

TEST(RandomKey, AnInterruptedSourceIsAskedAgain) {
  static int asked = 0;
  asked = 0;
  const auto key = random_key([](void*, std::size_t bytes, unsigned) -> ssize_t {
    errno = EINTR;
    return ++asked < 3 ? -1 : static_cast<ssize_t>(bytes);
  });
  EXPECT_TRUE(key);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace alm::job
