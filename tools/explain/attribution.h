// Attributions: how much each value of an input has to do with one of a model's outputs, f. One row for each method:
// the command line, its help and the documents have their names from here.
//
//   gradient              df/dx (Simonyan, Vedaldi and Zisserman 2014)
//   smooth_gradient       the mean of gradients at x + normal noise (Smilkov et al. 2017)
//   integrated_gradients  (x - x0) times the mean gradient on the straight way from x0 to x (Sundararajan, Taly and Yan
//                         2017), by the midpoint rule: their sum is f(x) - f(x0) up to the quadrature's error
//   grad_cam              the feature maps of a layer, each times the mean of f's gradient by it; what is positive of
//                         their sum, enlarged to the image (Selvaraju et al. 2017). Images
//   occlusion             f(x) - f(x with a patch of x0), the mean over the patches that a pixel lies in (Zeiler and
//                         Fergus 2014). In rows of numbers a patch is one value
//   rise                  f(x under random masks) against the masks (Petsiuk, Das and Saenko 2018): their covariance by
//                         the masks' variance, so that a constant added to f changes nothing. Images
#pragma once

#include <algorithm>
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
  std::optional<uint32_t> patch;   // occlusion: height and width of a patch, in [1, the image's larger side]; none: 4,
                                   // or that side where it is less
  std::optional<uint32_t> stride;  // from patch to patch, in [1, patch]; none: 2, or the patch where that is less
  uint32_t masks = 1000;           // rise, at least 1
  uint32_t cells = 8;              // cells of a mask, down and across, at least 1
  float kept = 0.5f;               // how likely a cell of a mask is open, in (0, 1)
  std::string layer;               // grad_cam: the op whose output is read; empty: the last convolution
  uint64_t seed = 0;               // of noise and masks
};

struct Attribution {
  Shape shape;  // the input's; or [height, width], a number a pixel
  std::vector<float> values;
};

struct AttributionMethod {
  std::string_view name;
  std::string_view what;  // a line
  // Takes one input. Errors: invalid_argument (an input or a model that the method is not for, settings out of range).
  Result<Attribution> (*attribute)(AskedModel& model, std::span<const float> input, uint32_t picked,
                                   const AttributionSettings& settings);
};

std::span<const AttributionMethod> attribution_methods();
// nullptr: there is none of this name.
const AttributionMethod* find_attribution_method(std::string_view name);

}  // namespace coterie
