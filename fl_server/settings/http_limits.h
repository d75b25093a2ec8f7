// HttpLimits: what a client may take in time and amounts, by name.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "fl_server/settings/address_range.h"

namespace coterie {

struct HttpLimits {
  uint32_t connections_max = 10'000;
  uint32_t connections_per_address_max = 1'000;  // of IPv6: per /64
  // Proxies and the like, behind which there are many: connections_per_address_max is not for these, nor the charge for
  // asking /healthz.
  std::vector<AddressRange> trusted_addresses = loopback_addresses();
  Millis stranger_grace{2'000};   // before a connection of nobody known may be closed for another
  uint32_t handshakes_max = 512;  // under way at a time; connections beyond wait in the kernel's queue to be accepted
  Millis handshake_turn{500};     // who takes longer does not keep others waiting any more
  Millis handshake_max{10'000};
  Millis head_max{10'000};           // from the first byte of a head to its end
  Millis idle_max{60'000};           // between two requests
  Millis stranger_idle_max{10'000};  // the same, and before the first, while nobody has proved who it is
  Millis body_grace{10'000};         // a body of n bytes must arrive within body_grace + n / body_bytes_per_second_min
  uint64_t body_bytes_per_second_min = 16 * 1024;
  uint64_t bodies_bytes_max = 256ull << 20;  // of bodies at a time, updates aside
  Millis answer_max{120'000};  // for the client to take our answer, and for a handler that extends nothing
};

}  // namespace coterie
