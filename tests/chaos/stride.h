// How much of a sweep a test does: all of it at night (or what an hour allows), an evenly spread part of it in ./check.
#pragma once

#include <cstddef>

namespace coterie::chaos {

#ifdef COT_NIGHTLY
inline constexpr bool kIsNight = true;
#else
inline constexpr bool kIsNight = false;
#endif

constexpr size_t stride(size_t by_day, size_t by_night = 1) { return kIsNight ? by_night : by_day; }

}  // namespace coterie::chaos
