// LoRA: fine-tuning by low-rank companions of weights that stay as they are (Hu et al. 2021, arXiv:2106.09685).
//
//   y = x w + bias + (x A) B * alpha / rank      A[in, rank] He-normal, B[rank, out] zeros: at first y is as it was
//
// Gradients and optimizer state are needed for A and B alone. Afterwards w + A B * alpha / rank takes w's place, and
// the model is again the one it was, with other values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct LoraSettings {
  uint32_t rank = 8;
  float alpha = 8;
  std::string pattern = "*";  // of the weights' names (name_pattern.h)
  friend bool operator==(const LoraSettings&, const LoraSettings&) = default;
};

// "rank=8:*.weight", "rank=4,alpha=16:features.*"; alpha is the rank unless given. invalid_argument says what is wrong.
Result<LoraSettings> parse_lora(std::string_view text);

// The file of the model with companions <weight>.lora_a and <weight>.lora_b for the weight of every dense and of every
// 1x1 conv2d without groups whose name matches; every other parameter is frozen. The same arguments give the same
// bytes. Errors: invalid_argument (the settings are out of range, or nothing matches), and Model::load's.
Result<Bytes> add_lora(const Model& model, const LoraSettings& settings, uint64_t seed);

// The flat vector of `model` that computes what `adapted`, made of it by add_lora, does with `values` (its flat
// vector). Weights are formed in double and rounded once.
std::vector<float> merge_lora(const Model& model, const LoraSettings& settings, const Model& adapted,
                              std::span<const float> values);

}  // namespace coterie
