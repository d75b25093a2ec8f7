// What an account may be asked. Beyond them the answer is a typed error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::account_limits {

inline constexpr size_t kGroupsMax = 1000;            // different groups of releases in one account
inline constexpr uint64_t kStepsMax = 1'000'000'000;  // releases of one group
inline constexpr double kNoiseMultiplierMin = 0.01;   // standard deviation (scale, for Laplace) over sensitivity
inline constexpr double kNoiseMultiplierMax = 1e6;
inline constexpr double kSensitivityMax = 1e12;  // of a discrete mechanism, in steps of its grid
inline constexpr double kSamplingRateMin = 1e-9;
inline constexpr double kDeltaMin = 1e-30;
inline constexpr double kDeltaMax = 0.5;
inline constexpr double kEpsilonMin = 1e-3;  // of a calibration's target
inline constexpr double kEpsilonMax = 1000;
inline constexpr uint64_t kPopulationMax = 1'000'000'000'000;  // records that are sampled from
inline constexpr uint64_t kTreeStepsMax = 1 << 20;
inline constexpr uint64_t kDimensionsMax = 1ull << 40;

// Points of one privacy loss distribution: 8 bytes each in some six arrays, 50 MB at most.
inline constexpr size_t kPldPointsMax = 1 << 20;
// Values that a discrete mechanism's noise takes before its tail is cut.
inline constexpr size_t kAtomsMax = 1 << 20;

}  // namespace coterie::account_limits
