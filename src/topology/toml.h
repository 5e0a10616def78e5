// toml++ as this module uses it: header only, so that a preloaded library needs no further shared
// object, and without exceptions. Its parser is given what base::plain_text() returns, nothing
// else.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
