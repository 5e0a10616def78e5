// The _c forms, for MPI libraries without them: those before MPI 4.0, and Open MPI 5.
//
// A program that refers to them weakly (mpi4py does) finds ours and takes them for the library's.
// Calls whose counts fit an int go to the old forms; larger counts are an error.
// Handles are words: the library may have another ABI than this one (entry.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "messages/io/mpi_api.h"
#include "mpi/abi/entry.h"

namespace alm::mpi::large_counts {

bool fit(const entry::Arguments& given);
// The same with arrays of ints, which `keep` holds; nothing: a value does not fit. Precondition of
// the neighbour forms: the library has this ABI, because its kinds of topologies are asked for.
std::optional<entry::BlockArguments> narrowed(
    const messages::MpiApi& api, const entry::BlockArguments& given,
    const std::function<const int*(std::vector<int>)>& keep);
// Raises the error of counts that do not fit.
int refuse(const messages::MpiApi& api, entry::Word comm);

}  // namespace alm::mpi::large_counts
