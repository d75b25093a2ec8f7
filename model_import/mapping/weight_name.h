// What a name says: "backbone/conv1/kernel:0" is the weight of backbone.conv1, as "module.backbone.conv1.weight" is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coterie::model_import {

enum class WeightPart : uint8_t { unknown, weight, bias, mean, variance, weight_ih, weight_hh, bias_ih, bias_hh };

struct WeightName {
  std::vector<std::string> stem;  // the layer, word by word, lower case; what wraps a whole model is left out
  WeightPart part = WeightPart::unknown;
  bool is_kernel = false;  // "kernel": TensorFlow's, Keras's and Flax's word, whose weights are [in, out]
  friend bool operator==(const WeightName& a, const WeightName& b) { return a.stem == b.stem && a.part == b.part; }
};

// PyTorch, MindSpore (gamma, beta, moving_mean, moving_variance, embedding_table) and Keras; the layer number of an
// LSTM (weight_ih_l1_reverse) becomes the suffix that an imported model has (weight_ih_reverse_2).
WeightName parse_weight_name(std::string_view name);

// Whether one stem ends with the other, part equal: layer1.conv and backbone.layer1.conv.
bool ends_with(const WeightName& longer, const WeightName& shorter);

// `name` by a rule "blocks.*.w=layers.*.weight": what each star of `from` stands for, put into those of `to`, in order.
// Each star takes as little as it can. None: the rule is of another name.
std::optional<std::string> renamed(std::string_view name, std::string_view from, std::string_view to);

}  // namespace coterie::model_import
