// A model's weights as int8, channel by channel: a file of about a quarter of the size. What computes stays float32.
//
// Remedies are tried one after the other and kept only if the loss on the calibration examples falls: equalised layers,
// then, layer by layer, the range rule that loses least in squares. Each of them was seen to harm a net as well as to
// cure one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "tools/model/int8_range.h"

namespace coterie {

struct QuantiseSettings {
  LossSettings loss;
  uint64_t calibration_examples = 512;
  uint64_t target_elements = 1;  // of an example
  uint32_t threads = 1;
  uint32_t weight_bits = kWeightBitsMax;  // fewer: fewer steps, in the same bytes
  std::vector<std::string> keep;          // patterns (name_pattern.h): weights that stay float32
  std::function<void(size_t tried, size_t in_all)> progress = {};  // told before each remedy of a layer
};

struct QuantisedLayer {
  std::string name;
  Shape shape;
  RangeRule rule = RangeRule::min_max;
  bool is_bias_corrected = false;
  Int8Loss loss;
};

struct QuantiseReport {
  Bytes file;  // sealed
  std::vector<QuantisedLayer> layers;
  bool is_equalised = false;
  double calibration_exact = 0, calibration_plain = 0, calibration_loss = 0;  // float32; min-max alone; what is kept
  Evaluation before, after;                                                   // on the examples it is judged by
};

// Weights are those of linear layers, convolutions, recurrent layers and embeddings, with at least kInt8ElementsMin
// elements. Errors: invalid_argument (there are none; a pattern of keep matches nothing), those of Evaluator.
Result<QuantiseReport> quantise(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                const QuantiseSettings& settings);

}  // namespace coterie
