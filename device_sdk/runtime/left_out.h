// What a build may be without beside ops (-NAME in a list for -DCOTERIE_OPS_FROM). Training that asks for it is refused
// by name; only joining steps and waves are left out in silence, as they change no bits. For sources of this folder
// alone, which are compiled with the list.
#pragma once

#include <string_view>

#include "base/error.h"

namespace coterie {

// invalid_argument: WHAT, as this build was made from a list with -NAME.
Error left_out(std::string_view what, std::string_view name);

#ifdef COTERIE_NO_AUGMENTATION
inline constexpr bool kHasAugmentation = false;
#else
inline constexpr bool kHasAugmentation = true;
#endif
#ifdef COTERIE_NO_BF16  // TrainOptions::storage
inline constexpr bool kHasBfloat16 = false;
#else
inline constexpr bool kHasBfloat16 = true;
#endif
#ifdef COTERIE_NO_CHANNELS  // TrainOptions::channels
inline constexpr bool kHasChannels = false;
#else
inline constexpr bool kHasChannels = true;
#endif
#ifdef COTERIE_NO_DELEGATES  // parts that something else computes (external_part.h), of trainings and predictions
inline constexpr bool kHasDelegates = false;
#else
inline constexpr bool kHasDelegates = true;
#endif
#ifdef COTERIE_NO_EARLY_STOPPING  // TrainOptions::early_stopping
inline constexpr bool kHasEarlyStopping = false;
#else
inline constexpr bool kHasEarlyStopping = true;
#endif
#ifdef COTERIE_NO_ENCRYPTION  // TrainOptions::checkpoint_cipher
inline constexpr bool kHasEncryption = false;
#else
inline constexpr bool kHasEncryption = true;
#endif
#ifdef COTERIE_NO_HEADS  // LossSettings::heads
inline constexpr bool kHasHeads = false;
#else
inline constexpr bool kHasHeads = true;
#endif
#ifdef COTERIE_NO_LOSS_SCALING  // TrainOptions::loss_scaling
inline constexpr bool kHasLossScaling = false;
#else
inline constexpr bool kHasLossScaling = true;
#endif
#ifdef COTERIE_NO_MEMORY_LIMIT  // TrainOptions::planned_bytes_max
inline constexpr bool kHasMemoryLimit = false;
#else
inline constexpr bool kHasMemoryLimit = true;
#endif
#ifdef COTERIE_NO_QAT  // TrainOptions::qat
inline constexpr bool kHasQat = false;
#else
inline constexpr bool kHasQat = true;
#endif
#ifdef COTERIE_NO_THREADS  // more than the caller's own
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
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
