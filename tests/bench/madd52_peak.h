// How many 52-bit multiply-adds of 64-bit lanes (AVX-512 IFMA) this core does a second, in registers alone.
#pragma once

namespace coterie::bench {

// 0 where the CPU has none. Takes 20 ms.
double madd52_peak();

}  // namespace coterie::bench
