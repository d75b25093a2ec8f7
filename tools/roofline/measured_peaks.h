// What this machine can do at most, measured now.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/roofline/roofline.h"

namespace coterie {

// By so many threads at once, each on its own core if it can: fp32 multiply-adds with the vectors of the kernel table
// of that name, and copies within working sets from 32 KiB to 128 MiB, which the threads share out. Takes about half a
// second. Figures are by processor time: what others run meanwhile does not count.
MachinePeaks measured_peaks(uint32_t threads, std::string_view kernels);

}  // namespace coterie
