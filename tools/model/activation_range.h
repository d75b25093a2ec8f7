// The range of an activation, and the int8 grid that is laid over it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "proto/codec/stored_model.h"

namespace coterie {

// How many values lie where between the smallest and the largest, 0 included.
struct ActivationHistogram {
  static constexpr size_t kBins = 2048;
  double low = 0, high = 0;
  std::vector<uint64_t> counts = std::vector<uint64_t>(kBins);  // bin i: from low + i * (high - low) / kBins on
};

// Each under the name of its tensor.
using ActivationHistograms = std::map<std::string, ActivationHistogram, std::less<>>;

// Reads all examples once, or twice where their values are more than 2^24. Values that are no finite number count
// nowhere. Errors: those of for_each_activation (partial_model.h).
Result<ActivationHistogram> activation_histogram(const Model& model, uint32_t tensor, ExampleSource& examples,
                                                 uint64_t target_elements);

// Which part of the range the 256 values of int8 are laid over. Zero is always in it, and exactly on the grid.
//   min_max     all of it
//   percentile  without .005 % of the values at each end
//   least_mse   the part of it (from 1 down to .3, in steps of .02) that loses least in squares over the histogram
//   divergence  the part of it (likewise) whose rounded histogram has the least Kullback-Leibler divergence from the
//               whole one, what is cut off counted at the ends (Migacz 2017, "8-bit inference with TensorRT")
enum class GridRule : uint8_t { min_max, percentile, least_mse, divergence };
std::string_view to_string(GridRule rule);

TensorGrid grid_for(const ActivationHistogram& histogram, uint32_t tensor, GridRule rule);

}  // namespace coterie
