// A training's forward pass with the numbers that integers would stand for (ADR 182): what is rounded, and the steps.
//
//   weights      in front of all ops: w becomes scale * q, by channel, from the weights as they are (int8_grid.h). No
//                weight lies beyond its range, so the gradient goes straight through to w
//   activations  behind the op that makes one: x becomes scale * (q - zero). The grid lies over a range that holds all
//                values of the batch: a wider one widens it at once, a narrower one draws it in by a tenth of the way.
//                So no value is clipped, and the gradient goes straight through to x
//
// Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
// 2018, section 3, whose range follows slower batches and wider ones alike: values beyond it have a gradient of 0
// there, nothing pulls them back, and a step that is too large never ends. A batch norm is no case of its own: what it
// multiplies a channel with multiplies the channel's scale, and q stays.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/int8_grid.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/program.h"
#include "proto/messages/quantised_training.h"

namespace coterie {

struct RoundedTensors {
  std::vector<Int8WeightAxis> weights;  // by tensor
  std::vector<uint32_t> activations;    // ascending; the model's input may be one
};

// Errors: those of int8_layers (full); invalid_argument: there is no weight to round.
Result<RoundedTensors> rounded_tensors(const Model& model, QuantisedParts parts);

// Floats that a range keeps from step to step: the smallest, the largest, and whether there was a batch; 0 at first.
inline constexpr uint64_t kRangeFloats = 3;

// Emits what rounds `weight` [.., channels, inner], and gives where it lies.
struct WeightChannels {
  size_t outer, channels, inner;
};
BufferId emit_rounded_weight(Program& program, Phase phase, const WeightChannels& shape, int levels, BufferId weight);

// An activation of `count` floats and what it becomes.
struct RoundedActivation {
  uint64_t count = 0;
  BufferId exact = kNoBuffer, rounded = kNoBuffer;
  BufferId state = kNoBuffer;  // kRangeFloats of Region::ranges
  BufferId range = kNoBuffer;  // of this step, a scratch buffer
};
// Emits what rounds `exact` into `rounded`, which the caller made; makes `range`.
void emit_rounded(Program& program, Phase phase, RoundedActivation& activation);
// Keeps the step's range, behind everything that reads the state.
void emit_kept_range(Program& program, const RoundedActivation& activation);

}  // namespace coterie
