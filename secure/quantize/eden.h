// EDEN: an update in 1 to 4 bits a value, on a grid of its own (Vargaftik et al., ICML 2022; with 1 bit DRIVE, NeurIPS
// 2021). For servers that see each update: no sum of levels means anything, as each update has its own scale.
//
//   y       = the update x, turned twice (shared_rotation.h), each time by other signs, which a seed of its own gives
//   levels  = the nearest of the 2^bits centroids c of a normal variable, for each value of y sqrt(d) / |x|
//   scale   = |x|^2 / sum of y_i c_i
//   decoded = scale * c, turned back twice; each value into the plan's bound
//
// So the decoded update has exactly x's length along x (up to floats), and what it has beside that is as often on one
// side as on the other: the mean over seeds is x. One turn would not do: a vector with few values that are not 0 has
// few different ones turned, and rounds the same way whatever the signs are. After two the mean is off by a share of
// the order of 1 / d, so that updates have kEdenValuesMin values at least.
//
// The squared error of one update, as a share of |x|^2: .571, .133, .036 and .0096 with 1, 2, 3 and 4 bits (pi / 2 - 1
// with 1). That of a mean of n falls with n, as devices turn by seeds of their own.
//
// Deterministic: what is decoded has the same bits on every machine. One product makes a value of a level, and the
// rotations add and multiply in one order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace coterie {

// A decoded update is at most so many times as long as what was encoded. An honest one is 1.25 times as long with 1
// bit; that of a device that lies may be so long behind a clip.
inline constexpr double kEdenNormMax = 2;

struct EdenUpdate {
  float scale = 0;
  std::vector<uint16_t> levels;
};

// 1 <= bits <= kEdenBitsMax, invalid_argument if a value is not finite.
Result<EdenUpdate> encode_eden(std::span<const float> values, uint32_t bits, uint64_t rotation_seed);

// In place: levels, each below 2^bits, to values. `scale` is finite and not negative. Values that are not finite come
// of scales that no honest device has, and are for who adds them to refuse.
Status decode_eden(float scale, uint32_t bits, uint64_t rotation_seed, float value_abs_max, std::span<float> levels);

// What a device turns by, from the seed of its training, which nobody learns by it.
uint64_t eden_rotation_seed(uint64_t training_seed);

}  // namespace coterie
