#include "bindings/bindings.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

void raise(const base::Error& error) {
  const char* name = error.code == base::ErrorCode::kBadInput ? "BadInput" : "Failed";
  const nb::object type = nb::module_::import_("allemande.errors").attr(name);
  PyErr_SetString(type.ptr(), error.message.c_str());
}

}  // namespace
}  // namespace alm::bindings

NB_MODULE(_core, m) {
  m.doc() = "C++ parts of allemande. Use the Python modules that wrap them.";
  nb::register_exception_translator([](const std::exception_ptr& pending, void*) {
    try {
      std::rethrow_exception(pending);
    } catch (const alm::bindings::RaisedError& raised) {
      alm::bindings::raise(raised.error);
    }
  });
  alm::bindings::bind_topology(m);
  alm::bindings::bind_plan(m);
  alm::bindings::bind_model(m);
  alm::bindings::bind_routing(m);
  alm::bindings::bind_simulate(m);
  alm::bindings::bind_streams(m);
  alm::bindings::bind_exchange(m);
  alm::bindings::bind_probe(m);
}
