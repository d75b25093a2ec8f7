// The named limits of a model that is run. Models come from the network: over a limit is an error, never an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::limits {

inline constexpr size_t kRuntimeOpsMax = 4096;  // the memory planner is quadratic in the buffers
inline constexpr size_t kShapeRankMax = 8;
inline constexpr uint64_t kTensorElementsMax = 1ull << 28;  // of one example; offsets inside it fit int32
inline constexpr double kExampleFlopsMax = 1e12;            // forward, one example: a hundred ResNet-50s
inline constexpr uint64_t kArenaBytesMax = 4ull << 30;      // unless the caller asks for less
inline constexpr uint32_t kThreadsMax = 64;
inline constexpr double kPartNanosecondsMin = 6000;  // of a step that is cut: handing it over costs up to two thousand
inline constexpr uint64_t kTrainingExamplesMax = 1ull << 26;  // their shuffled order is kept, 4 bytes each

}  // namespace coterie::limits
