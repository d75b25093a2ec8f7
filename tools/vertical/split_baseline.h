// What a split network is compared with: one network of the same template over one table, trained by the same steps.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/vertical/baselines.h"
#include "vertical/split/split_settings.h"

namespace coterie {

// Without noise, rounding, turned labels or batches in flight. Two towers become one with a linear end. No score
// without columns. The layers in front of the cut are as wide as those of so many parties together.
Result<std::vector<float>> plain_split_scores(const PlainData& data, const vertical::SplitSettings& settings,
                                              uint32_t parties);

}  // namespace coterie
