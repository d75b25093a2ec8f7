// Grad-CAM (attribution.h has what it is), and which layer it reads.
#pragma once

#include "tools/explain/attribution.h"

namespace coterie {

Result<Attribution> attribute_by_grad_cam(AskedModel& model, std::span<const float> input, uint32_t picked,
                                          const AttributionSettings& settings);

// The tensor that Grad-CAM reads: what op `layer` gives, or if that is empty the last convolution, with the batch norm
// and the activation behind it. Errors: invalid_argument (no such op; no feature maps [height, width, channels]).
Result<uint32_t> find_feature_maps(const Model& model, const std::string& layer);

}  // namespace coterie
