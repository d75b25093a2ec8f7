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
#include "proto/messages/lora_settings.h"
#include "proto/messages/plan.h"

namespace coterie {

// "rank=8:*.weight", "rank=4,alpha=16:features.*", "rank=4,seed=1:*"; alpha is the rank unless given, and with a seed A
// is drawn of it and stays (FFA-LoRA, fixed_a_seed). invalid_argument says what is wrong.
Result<LoraSettings> parse_lora(std::string_view text);

// How the names of companions end; B is zero at first.
inline constexpr const char *kLoraAEnding = ".lora_a", *kLoraBEnding = ".lora_b";

// The file of the model with companions <weight>.lora_a and <weight>.lora_b for the weight of every dense and of every
// 1x1 conv2d without groups whose name matches and which nothing else reads (lora_pairs.h); every other parameter is
// frozen, and A where it is fixed. The same arguments give the same bytes; `seed` is of no consequence with a fixed A.
// Errors: invalid_argument (the settings are out of range), lora_pairs' and Model::load's.
Result<Bytes> add_lora(const Model& model, const LoraSettings& settings, uint64_t seed);

// The flat vector of `model` that computes what `adapted`, made of it by add_lora, does with `values` (its flat
// vector). Weights are formed in double and rounded once.
std::vector<float> merge_lora(const Model& model, const LoraSettings& settings, const Model& adapted,
                              std::span<const float> values);

// What a device trains of a job's model: the model with companions, if the job has some; of one with clusters the first
// of them, whose form all have (cluster_models.h); else the model itself.
Result<Model> model_to_train(const Model& model, const TrainingSettings& training);

}  // namespace coterie
