// Permutation importance (Breiman 2001): by how much the loss on a data set rises where one feature is shuffled among
// the examples, so that it says nothing about them any more. What devices of a population say of it
// (proto/messages/importance_lanes.h) is made of the same orders: device_sdk/runtime/permuted_inputs.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tools/explain/feature_names.h"

namespace coterie {

class ExampleSource;
class Model;
struct LossSettings;

inline constexpr uint64_t kPermutedFeaturesMax = 4096;
inline constexpr uint64_t kPermutedValuesMax = 1ull << 28;  // of all examples, held in memory

struct FeatureImportance {
  double loss_rise = 0;  // mean over the repeats
  double deviation = 0;  // standard deviation over them (divisor n - 1); 0 of one
  // Share of examples that become wrong, less that of those which become right, mean over the repeats; 0 where targets
  // are values.
  double error_rise = 0;
};

struct PermutationImportance {
  double loss = 0;  // with the examples as they are
  std::vector<FeatureImportance> features;
};

// `repeats` shuffles of each feature, at least 1, drawn from the seed; the values of a feature move together. Errors:
// invalid_argument (several inputs, or one that is not float32), too_large (a limit above), and Evaluator::run's.
Result<PermutationImportance> permutation_importance(const Model& model, const LossSettings& loss,
                                                     ExampleSource& examples, std::span<const Feature> features,
                                                     uint32_t repeats, uint64_t seed);

}  // namespace coterie
