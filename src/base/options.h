// The options of allemande (options.def) as a struct, read from environment and configuration file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::base {

namespace option_kind {
using Text = std::string;
using Path = std::string;
using Integer = std::uint32_t;
using Number = double;
using Choice = std::string;
using Flag = bool;
}  // namespace option_kind

enum class OptionKind { kText, kPath, kInteger, kNumber, kChoice, kFlag };
enum class OptionScope { kShared, kLocal };
enum class OptionOrigin { kBuiltIn, kFile, kEnvironment, kProgram };

struct OptionInfo {
  std::string_view key;
  OptionKind kind;
  std::string_view default_text;
  std::string_view valid;
  OptionScope scope;
  std::string_view help;

  std::string environment_name() const;  // ALLEMANDE_<KEY>
};

struct Options {
#define ALM_OPTION(name, kind, default_text, valid, scope, help) option_kind::kind name{};
#include "base/options.def"
#undef ALM_OPTION
  std::map<std::string, OptionOrigin> origin;  // options not named here have their built-in value
};

using Environment = std::map<std::string, std::string>;
Environment process_environment();

// Environment, then file ($ALLEMANDE_CONFIG, else ~/.config/allemande/config.toml), then built-in.
// An empty variable counts as not set. An unknown ALLEMANDE_ name, an unknown key or a bad value is
// a kBadInput error that names the valid ones.
Result<Options> load_options(const Environment& environment);
inline Result<Options> load_options() { return load_options(process_environment()); }

// Sets one option from "key=value", as a program gives it. It overrides all that load_options
// found.
Status set_option(Options& options, std::string_view assignment);

// One "key=value" line per shared option: ranks compare this text.
std::string shared_options_text(const Options& options);

}  // namespace alm::base
