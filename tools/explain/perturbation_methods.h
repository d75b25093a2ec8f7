// Attributions that cover parts of an input and look what the output does (attribution.h has what they are).
#pragma once

#include "tools/explain/attribution.h"

namespace coterie {

Result<Attribution> attribute_by_occlusion(AskedModel& model, std::span<const float> input, uint32_t picked,
                                           const AttributionSettings& settings);
Result<Attribution> attribute_by_rise(AskedModel& model, std::span<const float> input, uint32_t picked,
                                      const AttributionSettings& settings);

}  // namespace coterie
