// What hosts and switches may be called.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace alm::base {

inline constexpr std::size_t kNodeNameMax = 63;  // as of a label of a host name

// Letters, digits, dots, dashes and underscores; a dash is not the first.
bool is_node_name(std::string_view text);

// IPv4 or IPv6. A link-local address may name its interface: fe80::1%eth0.
bool is_address(const std::string& text);

}  // namespace alm::base
