// Two kinds of time that cannot be mixed, and no way to read either here: pure code is handed the time.
//
// Deadlines and timeouts use Instant (monotonic, meaningless across processes). What travels between machines
// (ticket expiry, request timestamps) is WallTime. base/os/clock.h reads the real clocks.
#pragma once

#include <chrono>
#include <cstdint>

namespace coterie {

using Millis = std::chrono::milliseconds;

struct MonotonicTag {
  using duration = Millis;
  using rep = Millis::rep;
  using period = Millis::period;
};
struct WallTag {
  using duration = Millis;
  using rep = Millis::rep;
  using period = Millis::period;
};

using Instant = std::chrono::time_point<MonotonicTag, Millis>;
using WallTime = std::chrono::time_point<WallTag, Millis>;  // milliseconds since 1970-01-01 UTC

inline WallTime wall_time_from_unix_ms(int64_t ms) { return WallTime(Millis(ms)); }
inline int64_t unix_ms(WallTime time) { return time.time_since_epoch().count(); }

// What a machine is told when it steps.
struct Now {
  Instant instant;
  WallTime wall;
};

}  // namespace coterie
