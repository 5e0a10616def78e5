// Tells the machines of processes apart. Names do not: containers may all have the same one.
#pragma once

#include <cstdint>

namespace alm::job {

// A hash of this machine, different for others of the same name. It is equal for processes of one
// boot that share the machine's network and see each other, so that they can share memory
// (node/node_memory.h). 0: unknown.
std::uint32_t this_machine();

}  // namespace alm::job
