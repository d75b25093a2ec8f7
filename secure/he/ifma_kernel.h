// The kernel of CPUs with AVX-512 IFMA: 52-bit multiply-adds in eight lanes (Intel SDM, VPMADD52LUQ and VPMADD52HUQ).
// Private to secure/he.
#pragma once

#include "secure/he/lane_kernel.h"

namespace coterie::he {

#if defined(__x86_64__)
// Only where cpu_has_ifma().
extern const LaneKernel kIfmaKernel;
#endif

}  // namespace coterie::he
