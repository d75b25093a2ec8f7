// What goes with the job key update.compression, and what it makes of a plan.
//
// Each device clips to update.clip_l2, rotates by signs that all of a round share, and rounds at random to a grid that
// they share, too (secure/quantize/quantization_grid.h): sums stay exact, with masks and without.
#pragma once

#include "base/problem.h"
#include "proto/messages/quantization.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// With compression an update counts once, whatever its examples, unless the job says otherwise: values of a device with
// few of weight_max examples would have few of the grid's levels.
inline constexpr uint32_t kCompressedWeightMaxDefault = 1;

// What the settings have that does not go with their compression, each problem with the pair and the reason.
Problems compression_problems(const HorizontalSettings& settings);

// The plan's rules; none without compression. Behind masks a round's sum holds all devices of its cohorts.
QuantizationRules quantization_of(const HorizontalSettings& settings);

}  // namespace coterie
