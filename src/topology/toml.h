// toml++ as this module uses it: header only, so that a preloaded library needs no further shared
// object, and without exceptions. Only text that passed check_text() goes to its parser.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
