// base/os/thread_time.h under the name that the benches have for it.
#pragma once

#include "base/os/thread_time.h"

namespace coterie::bench {

using os::thread_cpu_seconds;

}  // namespace coterie::bench
