// Which machine this process is on. Names do not tell: containers may all have the same one.
#pragma once

#include <cstdint>

namespace alm::mpi {

// The same for processes of one boot of one machine that share its network and see each other's
// processes, which is what sharing memory takes here (node/node_memory.h). A hash: other machines
// of the same name have another one. 0: cannot be told.
std::uint32_t this_machine();

}  // namespace alm::mpi
