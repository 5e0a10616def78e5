#include "base/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/toml.h"

namespace alm::base {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a fixture calls the value and the origin of an option.
std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint32_t value) { return std::to_string(value); }
std::string text_of(double value) { return fmt::format("{:.10g}", value); }
std::string text_of(bool value) { return value ? "on" : "off"; }

std::string value_of(const Options& options, std::string_view key) {
#define ALM_OPTION(name, kind, default_text, valid, scope, help) \
  if (key == #name) return text_of(options.name);
#include "base/options.def"
#undef ALM_OPTION
  return "no such option";
}

std::string origin_of(const Options& options, const std::string& key) {
  const auto found = options.origin.find(key);
  if (found == options.origin.end()) return "built-in";
  return found->second == OptionOrigin::kFile ? "file" : "environment";
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class OptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "allemande-options-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    const std::filesystem::path path = folder_ / "config.toml";
    std::ofstream(path) << text;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(OptionsTest, FixtureCases) {
  const toml::table fixtures =
      toml::parse_file(ALM_SOURCE_DIR "/tests/fixtures/options/cases.toml");
  const toml::array* cases = fixtures["case"].as_array();
  ASSERT_NE(cases, nullptr);
  ASSERT_GT(cases->size(), 10u);
  for (const toml::node& node : *cases) {
    const toml::table& one = *node.as_table();
    SCOPED_TRACE(one["name"].value_or(""));
    Environment environment;
    if (const auto file = one["file"].value<std::string>()) {
      environment["ALLEMANDE_CONFIG"] = write(*file);
    }
    if (const toml::table* env = one["env"].as_table()) {
      for (const auto& [key, value] : *env) {
        environment[std::string(key)] = value.value_or("");
      }
    }
    const Result<Options> loaded = load_options(environment);
    if (const toml::array* errors = one["error"].as_array()) {
      ASSERT_FALSE(loaded.ok());
      EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
      for (const toml::node& part : *errors) {
        EXPECT_THAT(loaded.error().message,
                    HasSubstr(replaced(part.value_or(""), "$DIR", folder_.string())));
      }
      continue;
    }
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    for (const auto& [key, value] : *one["expect"].as_table()) {
      EXPECT_EQ(value_of(loaded.value(), key), value.value_or("")) << key;
    }
    if (const toml::table* origins = one["origin"].as_table()) {
      for (const auto& [key, value] : *origins) {
        EXPECT_EQ(origin_of(loaded.value(), std::string(key)), value.value_or("")) << key;
      }
    }
  }
}

TEST_F(OptionsTest, HomeFileIsReadWhenNoneIsNamed) {
  std::filesystem::create_directories(folder_ / ".config/allemande");
  std::ofstream(folder_ / ".config/allemande/config.toml") << "omega = 5";
  const Result<Options> loaded = load_options({{"HOME", folder_.string()}});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value().omega, 5u);
}

TEST_F(OptionsTest, SharedTextHoldsWhatMustBeEqualAndNothingElse) {
  const Result<Options> loaded = load_options(
      {{"ALLEMANDE_WINDOW_PACKETS", "9"}, {"ALLEMANDE_LOG", "debug"}, {"ALLEMANDE_CLUSTER", "x"}});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const std::string text = shared_options_text(loaded.value());
  EXPECT_THAT(text, HasSubstr("window_packets=9\n"));
  EXPECT_THAT(text, Not(HasSubstr("log=")));
  EXPECT_THAT(text, Not(HasSubstr("cluster=")));
}

std::string variable_of(std::string_view key) {
  OptionInfo info{};
  info.key = key;
  return info.environment_name();
}

TEST(OptionTable, NamesAreUniqueAndHelpIsASentence) {
  std::set<std::string> names;
#define ALM_OPTION(name, kind, default_text, valid, scope, help) \
  EXPECT_TRUE(names.insert(variable_of(#name)).second) << #name; \
  EXPECT_TRUE(std::string_view(help).ends_with('.')) << #name;
#include "base/options.def"
#undef ALM_OPTION
  EXPECT_TRUE(names.contains("ALLEMANDE_PEER_TIMEOUT_S"));
}

TEST(OptionTable, ReadsTheProcessEnvironment) {
  const Environment environment = process_environment();
  EXPECT_TRUE(environment.contains("PATH"));
}

TEST_F(OptionsTest, AProgramSetsOptionsByName) {
  auto options = load_options({{"ALLEMANDE_OMEGA", "3"}}).value();
  ASSERT_TRUE(set_option(options, "omega=7"));
  ASSERT_TRUE(set_option(options, "stats=/tmp/a=b"));
  EXPECT_EQ(options.omega, 7u);
  EXPECT_EQ(options.stats, "/tmp/a=b");
  EXPECT_EQ(options.origin.at("omega"), OptionOrigin::kProgram);
}

TEST_F(OptionsTest, AProgramIsToldWhatIsWrongWithAnOption) {
  auto options = load_options(Environment{}).value();
  EXPECT_THAT(set_option(options, "omga=7").error().message, HasSubstr("one of the keys cluster"));
  EXPECT_THAT(set_option(options, "omega").error().message, HasSubstr("expected key=value"));
  EXPECT_THAT(set_option(options, "omega=many").error().message,
              HasSubstr("option `omega`: `many` is not valid; expected an integer in 0..65535"));
}

}  // namespace
}  // namespace alm::base
