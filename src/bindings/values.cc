#include "bindings/values.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace alm::bindings {
namespace {

scenario::Value unreadable(const nb::handle& given) {
  return {scenario::Unreadable{nb::cast<std::string>(nb::repr(given))}};
}

scenario::Value whole(const nb::handle& given) {
  std::uint64_t value = 0;
  if (nb::try_cast(given, value)) return {value};
  std::int64_t below = 0;
  return nb::try_cast(given, below) ? scenario::Value{below} : unreadable(given);
}

scenario::Value value_of(const nb::handle& given) {
  PyObject* const object = given.ptr();
  if (given.is_none()) return {scenario::Nothing()};
  if (PyBool_Check(object) != 0) return {object == Py_True};
  if (PyLong_Check(object) != 0) return whole(given);
  if (PyFloat_Check(object) != 0) return {PyFloat_AsDouble(object)};
  if (PyUnicode_Check(object) != 0) return {nb::cast<std::string>(given)};
  if (PyDict_Check(object) != 0) return {table_of(nb::cast<nb::dict>(given))};
  if (PySequence_Check(object) != 0 && PyBytes_Check(object) == 0) {
    scenario::List list;
    for (const nb::handle one : nb::iter(given)) list.push_back(value_of(one));
    return {std::move(list)};
  }
  // Numbers of numpy.
  if (PyIndex_Check(object) != 0) return whole(nb::int_(nb::borrow(given)));
  double number = 0;
  return nb::try_cast(given, number) ? scenario::Value{number} : unreadable(given);
}

}  // namespace

scenario::Table table_of(const nb::dict& options) {
  scenario::Table out;
  for (const auto& [key, value] : options) {
    out.push_back({nb::cast<std::string>(nb::str(key)), value_of(value)});
  }
  return out;
}

}  // namespace alm::bindings
