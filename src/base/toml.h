// toml++ without exceptions, compiled once (toml.cc): as a header alone it takes six seconds in
// every source. It is linked statically, because a preloaded library must not need a shared object.
// Its parser may only be given what plain_text() returns.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>
