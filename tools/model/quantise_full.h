// A model that computes in int8 (ADR 113), found for a float32 one: norms and transposes folded into layers, weights by
// channel, a grid for each activation.
//
// Remedies are tried one after the other and kept only if the loss of the int8 network on the calibration examples
// falls, until it is no larger than that of the float32 model: equalised layers; layer by layer, weights by least
// squares; activation by activation, the other rules of a range; weights whose integers make up for each other
// (int8_compensation.h); layer by layer, a bias without what rounding adds on average (int8_bias.h). Bits of weights
// are given, or found so that the file has a size (width_search.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "tools/model/int8_range.h"

namespace coterie {

enum class GridRule : uint8_t;  // activation_range.h
struct ActivationHistogram;
using ActivationHistograms = std::map<std::string, ActivationHistogram, std::less<>>;

struct FullQuantiseSettings {
  LossSettings loss;
  uint64_t calibration_examples = 512;
  uint64_t target_elements = 1;                                    // of an example
  uint32_t weight_bits = 8;                                        // in [1, 8]
  std::optional<double> target_ratio;                              // above 1: the bits are found
  std::function<void(size_t tried, size_t in_all)> progress = {};  // told before each remedy
  // Where activations lie, if others have counted it: the examples judge remedies alone, and layers are not equalised,
  // as their ranges would be others.
  const ActivationHistograms* ranges = nullptr;
};

// A value of the network: the model's input, or what a layer writes.
struct Int8LayerReport {
  std::string name, op;  // "input" is the op of the input
  struct Weights {       // dense, conv2d
    RangeRule rule = RangeRule::min_max;
    uint32_t bits = 8;
    bool is_bias_corrected = false;
    bool is_compensated = false;  // integers that make up for each other
    uint64_t bytes = 0;           // in the file, with the scales
    std::optional<double> price;  // where bits are found: what the calibration loss grows by with these alone rounded
  };
  std::optional<Weights> weights;
  std::optional<GridRule> range;  // none: the grid is that of the layer before
  float scale = 1;
  int zero = 0;
  // The values against those of the float32 model, on the first calibration examples: 10 log10 of the sum of squares by
  // that of the differences; infinite where there is none.
  double signal_to_noise_db = 0;  // no number: without examples it is not known
};

struct FullQuantiseReport {
  Bytes file;  // sealed
  std::vector<Int8LayerReport> layers;
  bool is_equalised = false;
  double calibration_exact = 0, calibration_plain = 0, calibration_loss = 0;  // float32; min-max alone; what is kept
  Evaluation before, after;  // on the examples it is judged by: float32, int8
};

// Errors: those of int8_layers and make_int8_program (what cannot compute in int8), of search_widths, and of Evaluator.
Result<FullQuantiseReport> quantise_full(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                         const FullQuantiseSettings& settings);

// Without examples: by ranges that others have counted, weights by min_max, and nothing is measured: the evaluations
// and losses of the report are of no examples. Errors: those of Int8Choice::create and make_int8_program.
Result<FullQuantiseReport> quantise_by_ranges(const Model& model, const ActivationHistograms& ranges,
                                              uint32_t weight_bits);

}  // namespace coterie
