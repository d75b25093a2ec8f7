// What rounding may do to a part (verification.h says why), and how its findings read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {

// sqrt(n) u of the part's longest sum.
double relative_rounding(const InferredTypes& inferred, const ModelGraph& graph, const PlannedPart& part);
// Each value, changed by `relative` of it, with random signs.
std::vector<float> changed(std::span<const float> values, double relative, Prng& prng);

std::string short_text(double value);  // four digits
// The op that makes this tensor: "dense dense1".
std::string maker_text(const ModelGraph& graph, const PlannedPart& part, uint32_t tensor);

}  // namespace coterie
