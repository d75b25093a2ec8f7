// How much of a sweep a test does: all of it at night, an evenly spread part of it in ./check.
#pragma once

#include <cstddef>

namespace coterie::chaos {

#ifdef COT_NIGHTLY
inline constexpr bool kIsNight = true;
#else
inline constexpr bool kIsNight = false;
#endif

constexpr size_t stride(size_t by_day) { return kIsNight ? 1 : by_day; }

}  // namespace coterie::chaos
