// "HOST:PORT" in configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace coterie {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;
};

// None for anything else.
std::optional<HostPort> parse_address(const std::string& text);

}  // namespace coterie
