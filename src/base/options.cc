#include "base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "base/text_file.h"
#include "base/toml.h"

namespace alm::base {
namespace {

constexpr std::string_view kPrefix = "ALLEMANDE_";
constexpr std::string_view kConfigVariable = "ALLEMANDE_CONFIG";
constexpr std::size_t kOptionFileBytesMax = 1u << 20;

constexpr std::array kTable = {
#define ALM_OPTION(name, kind, default_text, valid, scope, help) \
  OptionInfo{#name, OptionKind::k##kind, default_text, valid, OptionScope::k##scope, help},
#include "base/options.def"
#undef ALM_OPTION
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint32_t> to_integer(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `ranges` is a list of integers and low..high, as in "0,576..65535".
bool in_ranges(std::uint32_t value, std::string_view ranges) {
  for (const std::string_view range : split(ranges, ',')) {
    const std::size_t dots = range.find("..");
    const auto low = to_integer(range.substr(0, dots));
    const auto high = dots == std::string_view::npos ? low : to_integer(range.substr(dots + 2));
    assert(low && high);
    if (value >= *low && value <= *high) return true;
  }
  return false;
}

bool is_range(std::string_view choice) { return choice.find("..") != std::string_view::npos; }

// Only the usual spelling, because ranks compare texts.
bool spells_number_in(std::string_view text, std::string_view range) {
  const auto value = to_integer(text);
  return value && std::to_string(*value) == text && in_ranges(*value, range);
}

// `where` names the variable or the place in the file; it opens the message.
Error bad_value(std::string_view where, std::string_view text, std::string_view expected) {
  return bad_input(fmt::format("{}: `{}` is not valid; expected {}", where, text, expected));
}

Status assign_integer(const OptionInfo& info, std::string_view where, std::string_view text,
                      std::uint32_t& out) {
  const auto value = to_integer(text);
  if (!value || !in_ranges(*value, info.valid)) {
    return bad_value(where, text, fmt::format("an integer in {}", info.valid));
  }
  out = *value;
  return {};
}

std::optional<double> to_number(std::string_view text) {
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `valid` is low..high.
Status assign_number(const OptionInfo& info, std::string_view where, std::string_view text,
                     double& out) {
  const std::size_t dots = info.valid.find("..");
  const auto low = to_number(info.valid.substr(0, dots));
  const auto high = to_number(info.valid.substr(dots + 2));
  assert(low && high);
  const auto value = to_number(text);
  if (!value || *value < *low || *value > *high) {
    return bad_value(where, text, fmt::format("a number in {}", info.valid));
  }
  out = *value;
  return {};
}

Status assign_flag(std::string_view where, std::string_view text, bool& out) {
  for (const std::string_view yes : {"on", "true", "yes", "1"}) {
    if (text == yes) return out = true, Status{};
  }
  for (const std::string_view no : {"off", "false", "no", "0"}) {
    if (text == no) return out = false, Status{};
  }
  return bad_value(where, text, "on or off");
}

// Values that have another name now.
struct RenamedValue {
  std::string_view key, before, now;
};
constexpr std::array kRenamedValues = {RenamedValue{"algorithm", "grid", "combine"}};

Status assign_text(const OptionInfo& info, std::string_view where, std::string_view text,
                   std::string& out) {
  if (info.kind == OptionKind::kChoice) {
    bool known = false;
    for (const std::string_view choice : split(info.valid, '|')) {
      known = known || (is_range(choice) ? spells_number_in(text, choice) : text == choice);
    }
    for (const RenamedValue& renamed : kRenamedValues) {
      if (info.key == renamed.key && text == renamed.before) {
        return bad_value(where, text, fmt::format("its new name, {}", renamed.now));
      }
    }
    if (!known) {
      return bad_value(where, text,
                       fmt::format("one of {}", fmt::join(split(info.valid, '|'), ", ")));
    }
  }
  // As an empty value would, but written in a word: it outranks a weaker source.
  const bool none = info.kind == OptionKind::kPath && text == "off";
  out = none ? std::string_view() : text;
  return {};
}

Status assign(const OptionInfo& info, std::string_view where, std::string_view text,
              std::string& out) {
  return assign_text(info, where, text, out);
}
Status assign(const OptionInfo& info, std::string_view where, std::string_view text,
              std::uint32_t& out) {
  return assign_integer(info, where, text, out);
}
Status assign(const OptionInfo& info, std::string_view where, std::string_view text, double& out) {
  return assign_number(info, where, text, out);
}
Status assign(const OptionInfo&, std::string_view where, std::string_view text, bool& out) {
  return assign_flag(where, text, out);
}

Status set_option(Options& options, const OptionInfo& info, std::string_view where,
                  std::string_view text) {
#define ALM_OPTION(name, kind, default_text, valid, scope, help) \
  if (info.key == #name) return assign(info, where, text, options.name);
#include "base/options.def"
#undef ALM_OPTION
  assert(false && "kTable and options.def are the same list");
  return {};
}

std::string value_text(const std::string& value) { return value; }
std::string value_text(std::uint32_t value) { return std::to_string(value); }
std::string value_text(double value) { return fmt::format("{:.10g}", value); }
std::string value_text(bool value) { return value ? "on" : "off"; }

const OptionInfo* find_option(std::string_view key) {
  for (const OptionInfo& info : kTable) {
    if (info.key == key) return &info;
  }
  return nullptr;
}

std::string keys_text() {
  std::vector<std::string_view> keys;
  for (const OptionInfo& info : kTable) keys.push_back(info.key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string variables_text() {
  std::vector<std::string> names{std::string(kConfigVariable)};
  for (const OptionInfo& info : kTable) names.push_back(info.environment_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

Status check_names(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix) || name == kConfigVariable) continue;
    bool known = false;
    for (const OptionInfo& info : kTable) known = known || info.environment_name() == name;
    if (!known) {
      return bad_input(fmt::format("{}: unknown environment variable; valid names are {}", name,
                                   variables_text()));
    }
  }
  return {};
}

std::string lookup(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? std::string() : found->second;
}

// The file to read; empty when there is none.
Result<std::string> config_file(const Environment& environment) {
  std::error_code ignored;
  const std::string named = lookup(environment, kConfigVariable);
  if (!named.empty()) {
    if (std::filesystem::exists(named, ignored)) return named;
    return bad_input(
        fmt::format("{}: the configuration file {} does not exist; create it, or "
                    "unset the variable",
                    kConfigVariable, named));
  }
  const std::string home = lookup(environment, "HOME");
  if (home.empty()) return std::string();
  std::string path = home + "/.config/allemande/config.toml";
  return std::filesystem::exists(path, ignored) ? path : std::string();
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto number = node.value_exact<double>()) return value_text(*number);
  if (const auto flag = node.value_exact<bool>()) return value_text(*flag);
  return std::nullopt;
}

Status read_file(const std::string& path, Options& options) {
  const auto content = read_text(path, kOptionFileBytesMax, "a file of options");
  if (!content) return content.error();
  const auto root = parse_toml(content.value(), path);
  if (!root) return root.error();
  for (const auto& [key, node] : root.value()) {
    const std::string where =
        fmt::format("{}:{}: key `{}`", path, key.source().begin.line, key.str());
    const OptionInfo* info = find_option(key.str());
    if (info == nullptr) {
      return bad_input(fmt::format("{}: unknown key; valid keys are {}", where, keys_text()));
    }
    const auto text = scalar_text(node);
    if (!text) return bad_input(fmt::format("{}: expected a string, a number or a boolean", where));
    if (Status status = set_option(options, *info, where, *text); !status) return status;
    options.origin[std::string(info->key)] = OptionOrigin::kFile;
  }
  return {};
}

}  // namespace

std::string OptionInfo::environment_name() const {
  std::string name(kPrefix);
  for (const char c : key) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

Environment process_environment() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Result<Options> load_options(const Environment& environment) {
  Options options;
  for (const OptionInfo& info : kTable) {
    if (info.default_text.empty()) continue;
    [[maybe_unused]] const Status status = set_option(options, info, info.key, info.default_text);
    assert(status.ok());
  }
  if (Status status = check_names(environment); !status) return status.error();

  const Result<std::string> path = config_file(environment);
  if (!path) return path.error();
  if (!path.value().empty()) {
    if (Status status = read_file(path.value(), options); !status) return status.error();
  }

  for (const OptionInfo& info : kTable) {
    const std::string name = info.environment_name();
    const std::string text = lookup(environment, name);
    if (text.empty()) continue;
    if (Status status = set_option(options, info, name, text); !status) return status.error();
    options.origin[std::string(info.key)] = OptionOrigin::kEnvironment;
  }
  return options;
}

Status set_option(Options& options, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const OptionInfo* info = find_option(assignment.substr(0, equals));
  if (info == nullptr || equals == std::string_view::npos) {
    return bad_input(fmt::format("option `{}`: expected key=value with one of the keys {}",
                                 assignment, keys_text()));
  }
  Status status = set_option(options, *info, fmt::format("option `{}`", info->key),
                             assignment.substr(equals + 1));
  if (status) options.origin[std::string(info->key)] = OptionOrigin::kProgram;
  return status;
}

std::string shared_options_text(const Options& options) {
  std::string text;
#define ALM_OPTION(name, kind, default_text, valid, scope, help)     \
  if (OptionScope::k##scope == OptionScope::kShared) {               \
    text += fmt::format("{}={}\n", #name, value_text(options.name)); \
  }
#include "base/options.def"
#undef ALM_OPTION
  return text;
}

}  // namespace alm::base
