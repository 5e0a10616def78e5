#include "base/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace alm::base {
namespace {

using testing::HasSubstr;

class TextFile : public testing::Test {
 protected:
  TextFile() { std::filesystem::create_directories(folder_); }
  ~TextFile() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text) const {
    const std::string path = folder_ / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("text-file-test-" + std::to_string(::getpid()));
};

TEST_F(TextFile, holds_all_bytes) {
  const std::string text(200'000, '\0');
  EXPECT_EQ(read_text(file(text), text.size(), "a file").value(), text);
  EXPECT_EQ(read_text(file(""), 0, "a file").value(), "");
}

TEST_F(TextFile, is_refused_beyond_its_limit) {
  const auto read = read_text(file("1234"), 3, "a word");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("more than 3 bytes are too many; expected a word"));
}

TEST_F(TextFile, says_what_a_directory_and_a_missing_file_are) {
  const auto folder = read_text(folder_, 100, "a word");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("cannot be read: Is a directory; expected a word"));
  const auto missing = read_text(folder_ / "none", 100, "a word");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none: cannot be read: No such file"));
}

}  // namespace
}  // namespace alm::base
