// Robustness: how a model does where its inputs are a little different: noise, and images that are shifted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"

namespace coterie {

struct Disturbance {
  std::string what;  // "noise of 10 % of the range", "shifted by 1 pixel"
  Evaluation evaluation;
};

// Noise is normal, its standard deviation a share of the range (largest - smallest) of the example's own values: 5, 10,
// 20 and 40 %. A shift moves an image [height, width, channels] by 1, 2 and 3 pixels, up, down, left and right, and is
// the mean of the four; pixels at the edge are repeated. The model has one float32 input. Errors: Evaluator's;
// invalid_argument (another model).
Result<std::vector<Disturbance>> disturbed(const Model& model, const LossSettings& loss, ExampleSource& examples,
                                           uint32_t threads, uint64_t seed);

}  // namespace coterie
