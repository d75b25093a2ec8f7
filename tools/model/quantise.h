// A model's weights as integers of 1 to 16 bits, channel by channel: a file of a quarter of the size with 8 bits. What
// computes stays float32. The bits are given, or found for each weight so that the file is so many times smaller
// (width_search.h).
//
// Remedies are tried one after the other and kept only if the loss on the calibration examples falls: equalised layers;
// layer by layer, the range rule that loses least in squares; integers of 6 bits and fewer that make up for each other
// (compensated_rounding.h); layer by layer, a bias without what rounding shifts its outputs by on average. Each of them
// was seen to harm a net as well as to cure one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "tools/model/weight_form.h"

namespace coterie {

struct QuantiseSettings {
  LossSettings loss;
  uint64_t calibration_examples = 512;
  uint64_t target_elements = 1;  // of an example
  uint32_t threads = 1;
  uint32_t weight_bits = 8;                 // in [1, 16]
  std::optional<double> target_ratio = {};  // above 1: the bits are found
  std::vector<std::string> keep;            // patterns (name_pattern.h): weights that stay float32
  std::function<void(size_t tried, size_t in_all)> progress = {};  // told before each remedy of a layer
};

struct QuantisedLayer {
  std::string name;
  Shape shape;
  WeightForm form;
  uint64_t bytes = 0;  // in the file, its scales with it
  Int8Loss loss;
  std::optional<double>
      price;  // where bits are found: what the calibration loss grows by with this weight alone rounded
};

struct QuantiseReport {
  Bytes file;  // sealed
  std::vector<QuantisedLayer> layers;
  bool is_equalised = false;
  double calibration_exact = 0, calibration_plain = 0, calibration_loss = 0;  // float32; min-max alone; what is kept
  Evaluation before, after;                                                   // on the examples it is judged by
  std::vector<HeadResult> heads_before, heads_after;                          // of a loss that has heads
};

// Weights are those of linear layers, convolutions, recurrent layers and embeddings, with at least kInt8ElementsMin
// elements. Errors: invalid_argument (there are none; a pattern of keep matches nothing; a file so small cannot be),
// those of Evaluator.
Result<QuantiseReport> quantise(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                const QuantiseSettings& settings);

}  // namespace coterie
