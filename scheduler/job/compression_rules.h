// What goes with the job key update.compression, and what it makes of a plan.
//
// quantized  each device clips to update.clip_l2, rotates by signs that all of a round share, and rounds at random to a
//            grid that they share, too (secure/quantize/quantization_grid.h): sums stay exact, with masks and without
// top_k      each device sends its largest values (device_sdk/agent/largest_values.h); with error feedback it keeps the
//            rest for its next update
// eden       each device rotates by signs of its own and rounds to a grid of its own (secure/quantize/eden.h)
//
// The last two are for level none: the server decodes each update, and sums as it does without compression.
#pragma once

#include "base/problem.h"
#include "proto/messages/quantization.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// A quantized update counts once, whatever its examples, unless the job says otherwise: values of a device with few of
// weight_max examples would have few of the grid's levels.
inline constexpr uint32_t kCompressedWeightMaxDefault = 1;

// What the settings have that does not go with their compression, each problem with the pair and the reason.
Problems compression_problems(const HorizontalSettings& settings);

// The plan's rules; none without that kind of compression. Behind masks a round's sum holds all devices of its cohorts.
QuantizationRules quantization_of(const HorizontalSettings& settings);
// The plan's rules for updates with so many values.
TopKRules top_k_of(const HorizontalSettings& settings, uint64_t value_count);
UpdateEncoding encoding_of(const CompressionSettings& compression);  // if it is on

// What can be said only when the model is known: of updates with so many values.
Problems compression_problems(const HorizontalSettings& settings, uint64_t value_count);

}  // namespace coterie
