// What a build may be without beside ops (-NAME in a list for -DCOTERIE_OPS_FROM). Training that asks for it is refused
// by name; only joining steps and waves are left out in silence, as they change no bits.
#pragma once

namespace coterie {

#ifdef COTERIE_NO_AUGMENTATION
inline constexpr bool kHasAugmentation = false;
#else
inline constexpr bool kHasAugmentation = true;
#endif
#ifdef COTERIE_NO_MEMORY_LIMIT  // TrainOptions::planned_bytes_max
inline constexpr bool kHasMemoryLimit = false;
#else
inline constexpr bool kHasMemoryLimit = true;
#endif
#ifdef COTERIE_NO_JOINED_STEPS  // several elementwise ops in one pass over their elements
inline constexpr bool kHasJoinedSteps = false;
#else
inline constexpr bool kHasJoinedSteps = true;
#endif
#ifdef COTERIE_NO_WAVES  // independent branches of a graph at the same time
inline constexpr bool kHasWaves = false;
#else
inline constexpr bool kHasWaves = true;
#endif

}  // namespace coterie
