// The Python extension module `_core`: one bind_x() per C++ module, called from core.cc.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/result.h"

namespace alm::bindings {

// Carries an Error to Python, where it is raised as allemande.errors.BadInput or Failed.
struct RaisedError {
  base::Error error;
};

template <class T>
T value_or_raise(base::Result<T> result) {
  if (!result) throw RaisedError{result.error()};
  return std::move(result).value();
}

void bind_topology(nanobind::module_& m);

}  // namespace alm::bindings
