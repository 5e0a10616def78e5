// The Python extension module `_core`: one bind_x() per C++ module, called from core.cc.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "topology/cluster.h"

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

// The hosts with these names; without names every host of the cluster. An unknown name raises
// BadInput, which lists the valid ones.
using HostNames = std::optional<std::vector<std::string>>;
std::vector<base::HostId> participants(const topology::Cluster& cluster, const HostNames& names);

// Reads rows of bytes, one row per sender, into one vector; raises BadInput unless they are ranks x
// ranks.
std::vector<std::uint64_t> read_traffic(const nanobind::object& rows, std::size_t ranks,
                                        const std::string& where);

void bind_exchange(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_plan(nanobind::module_& m);
void bind_probe(nanobind::module_& m);
void bind_routing(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_topology(nanobind::module_& m);

}  // namespace alm::bindings
