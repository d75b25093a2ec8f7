// Attributions: how much each value of an input has to do with one of a model's outputs, f. One row a method:
// command line, help and documents have its name from here.
//
//   gradient              df/dx (Simonyan et al. 2014)
//   smooth_gradient       the mean of gradients at x + normal noise (Smilkov et al. 2017)
//   integrated_gradients  (x - x0) times the mean gradient on the straight way from x0 to x (Sundararajan et al. 2017),
//                         by the midpoint rule: their sum is f(x) - f(x0) up to its error
//   grad_cam              a layer's feature maps, each times the mean of f's gradient by it; what is positive of their
//                         sum, enlarged to the image (Selvaraju et al. 2017). Images
//   occlusion             f(x) - f(x with a patch of x0), the mean over the patches that a pixel lies in (Zeiler and
//                         Fergus 2014). In rows of numbers a patch is a value
//   rise                  covariance of f(x masked) and random masks, by their variance (Petsiuk et al. 2018). Images
//   shapley               what a value adds to f, the mean over sampled orders from x0 to x (shapley.h)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/explain/asked_model.h"

namespace coterie {

struct AttributionSettings {
  float baseline = 0;              // x0: each value of it
  uint32_t steps = 50;             // integrated_gradients: gradients on the way, at least 1
  uint32_t samples = 25;           // smooth_gradient, at least 1
  float noise = 0.15f;             // its standard deviation, of max - min of the input
  std::optional<uint32_t> patch;   // occlusion: side of a patch, in [1, the image's larger side]; none: 4, or less
                                   // where that side is less
  std::optional<uint32_t> stride;  // from patch to patch, in [1, patch]; none: 2, or the patch if less
  uint32_t masks = 1000;           // rise, at least 1
  uint32_t cells = 8;              // cells of a mask, down and across, at least 1
  float kept = 0.5f;               // how likely a cell of a mask is open, in (0, 1)
  uint32_t orders = 100;           // shapley: each also backwards, at least 2
  std::string layer;               // grad_cam: the op whose output is read; empty: the last convolution
  uint64_t seed = 0;               // of noise, masks and orders
};

struct Attribution {
  Shape shape;  // the input's; or [height, width], a number a pixel
  std::vector<float> values;
  std::vector<float> standard_errors = {};  // of sampled values; else empty
};

struct AttributionMethod {
  std::string_view name;
  std::string_view what;  // a line
  // Takes one input. Errors: invalid_argument (an input or a model that it is not for, settings out of range).
  Result<Attribution> (*attribute)(AskedModel& model, std::span<const float> input, uint32_t picked,
                                   const AttributionSettings& settings);
};

std::span<const AttributionMethod> attribution_methods();
// nullptr: there is none of this name.
const AttributionMethod* find_attribution_method(std::string_view name);

}  // namespace coterie
