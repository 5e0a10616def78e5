// Slurm hostlist syntax: "h[0-3,7],x" -> h0 h1 h2 h3 h7 x, zero padding kept. The order of names
// survives: expand(compress(names)) == names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace alm::base {

// More names give an error; so do names that no host can have: of more than 253 letters, or of more
// than 63 between dots. Memory and time stay within what so many names take, whatever the list
// says.
inline constexpr std::size_t kHostlistMax = 131072;
Result<std::vector<std::string>> expand_hostlist(std::string_view list);
std::string compress_hostlist(std::span<const std::string> names);

}  // namespace alm::base
