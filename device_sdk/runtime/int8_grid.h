// The grids of int8: one definition for who quantises a model and for a training that counts on it (ADR 182).
//
//   a weight      scale * q, q in [-levels, levels]; a scale for each channel, the largest magnitude of which is levels
//   an activation scale * (q - zero), q in [-128, 127]; 0 is exactly on it
//
// q is the nearest one, of two as near the even one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/codec/stored_model.h"
#include "proto/messages/model.h"

namespace coterie {

// Weights of fewer elements stay float32 where the weights alone are stored as int8: they have nothing to give.
inline constexpr uint64_t kInt8ElementsMin = 64;

struct Int8WeightAxis {
  uint32_t tensor = 0;  // a parameter
  uint32_t axis = 0;    // the dimension that counts its channels
};
// What is stored as int8 where the weights alone are, by tensor: weights of linear layers, convolutions, recurrent
// layers and embeddings. One that two ops read is there once, as the first of them reads it.
std::vector<Int8WeightAxis> int8_weights(const ModelGraph& graph);

// The scale of a channel that ends at `end` on both sides. `levels`: stored_level_max (stored_integers.h).
float weight_scale(double end, int levels);
// q.
double weight_step(float value, float scale, int levels);

// Over the range and 0.
TensorGrid grid_over(double low, double high, uint32_t tensor);

}  // namespace coterie
