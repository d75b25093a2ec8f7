// Times as metrics have them.
#pragma once

#include "base/os/clock.h"

namespace coterie {

inline double in_seconds(Millis time) { return std::chrono::duration<double>(time).count(); }
inline double seconds_since(Instant begin) { return in_seconds(os::monotonic_now() - begin); }

}  // namespace coterie
