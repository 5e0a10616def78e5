// toml++ as it is used here: without exceptions, and compiled once (toml.cc), since header-only it
// takes six seconds in every source. No shared object: a preloaded library must not need one. Its
// parser is given what plain_text() returns, nothing else.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>
