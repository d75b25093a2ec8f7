// Shapley values of an input's parts by sampled orders (Castro, Gomez and Tejada 2009).
//
// A part is a pixel of an image, or a value. In an order parts go from the baseline to the input one by one, and each
// is credited with what the output rises by: these credits add up to f(x) - f(x0) whatever the order, and so do their
// means. Each order counts with its reverse, whose credits lie on the other side more often than not (antithetic:
// Mitchell, Cooper, Frank and Holmes 2022); standard errors are those of the mean of such pairs.
#pragma once

#include "tools/explain/attribution.h"

namespace coterie {

inline constexpr size_t kShapleyPartsMax = 4096;

// Errors: invalid_argument (more parts, fewer than two orders).
Result<Attribution> attribute_by_shapley(AskedModel& model, std::span<const float> input, uint32_t picked,
                                         const AttributionSettings& settings);

}  // namespace coterie
