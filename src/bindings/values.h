// Options that Python gives, as the room `scenario` reads them.
#pragma once

#include <nanobind/nanobind.h>

#include "scenario/value.h"

namespace alm::bindings {

scenario::Table table_of(const nanobind::dict& options);

}  // namespace alm::bindings
