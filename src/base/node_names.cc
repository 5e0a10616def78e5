#include "base/node_names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace alm::base {

bool is_node_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kNodeNameMax && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), allowed);
}

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), bytes.data()) == 1;
}

}  // namespace alm::base
