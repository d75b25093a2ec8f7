// A port that is this program's before anything listens at it: for processes that will.
#pragma once

#include <cstdint>
#include <string>

#include "base/os/file.h"
#include "base/result.h"

namespace coterie {

enum class PortUse : uint8_t {
  inherited,  // others get this socket, and listen with it
  reserved,   // others bind sockets of their own to it (SO_REUSEPORT), of this user alone
};

struct BoundPort {
  os::File socket;
  uint16_t port = 0;
};

// `address` is numeric; port 0: the system chooses. Errors: invalid_argument, unavailable (the port is taken).
Result<BoundPort> bind_port(const std::string& address, uint16_t port, PortUse use);

}  // namespace coterie
