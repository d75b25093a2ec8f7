// Attributions that read gradients by the input (attribution.h has what they are).
#pragma once

#include "tools/explain/attribution.h"

namespace coterie {

Result<Attribution> attribute_by_gradient(AskedModel& model, std::span<const float> input, uint32_t picked,
                                          const AttributionSettings& settings);
Result<Attribution> attribute_by_smooth_gradient(AskedModel& model, std::span<const float> input, uint32_t picked,
                                                 const AttributionSettings& settings);
Result<Attribution> attribute_by_integrated_gradients(AskedModel& model, std::span<const float> input, uint32_t picked,
                                                      const AttributionSettings& settings);

}  // namespace coterie
