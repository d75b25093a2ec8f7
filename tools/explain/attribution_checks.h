// Whether attributions say anything: three questions whose answers are known for a method that works.
//
//   deletion        pixels (or values) become the baseline, those with the highest attribution first: the output must
//                   fall faster than with a random order (Petsiuk, Das and Saenko 2018). The area under its curve
//   insertion       likewise from the baseline on, in the same order: it must rise faster
//   randomisation   the attribution of the same model with its weights shuffled must look otherwise: the rank
//                   correlation (Spearman) of the two (Adebayo et al. 2018)
//
// The output of a curve is the softmax of the scores, of one output the score, and the area its mean. Equal
// attributions have their places from the random order beside: one whose values are all equal has the very curves of
// chance, and its correlation is 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/explain/explanation.h"

namespace coterie {

struct OrderCurves {
  double deletion = 0, insertion = 0;  // the areas
  // The output as pixels go, and as they come: first with none of them, last with all, equally spaced.
  std::vector<double> falling, rising;
};

inline constexpr uint32_t kCurveSteps = 32;  // as many parts of the pixels, or a pixel at a time
inline constexpr uint32_t kRandomOrders = 8;

// Curves of the explained output, where pixels go in this order. An attribution has a value a pixel, or one a value.
Result<OrderCurves> order_curves(AskedModel& model, const Explanation& explanation, std::span<const size_t> order,
                                 float baseline);

// The same model with the values of each parameter shuffled among themselves; what a batch norm has seen stays.
Result<Model> with_shuffled_weights(const Model& model, uint64_t seed);

// Spearman's, ties having their mean rank; in [-1, 1], and 0 where either is constant.
double rank_correlation(std::span<const float> a, std::span<const float> b);

struct CheckedExample {  // areas
  double deletion = 0, insertion = 0, random_deletion = 0, random_insertion = 0;
};

// Means over the examples.
struct AttributionChecks {
  OrderCurves own, random;
  double randomised_correlation = 0;
  std::vector<CheckedExample> examples;  // in their order

  bool deletion_holds() const { return own.deletion < random.deletion; }
  bool insertion_holds() const { return own.insertion > random.insertion; }
  bool randomisation_holds() const { return randomised_correlation < kCorrelationMax; }
  bool hold() const { return deletion_holds() && insertion_holds() && randomisation_holds(); }

  static constexpr double kCorrelationMax = 0.5;
};

// Asks about these explanations, at least one, which `method` made with these settings. Errors: those of the method;
// invalid_argument (no explanation; scores or attributions that are not finite, which must_be_finite names).
Result<AttributionChecks> check_attributions(AskedModel& model, std::span<const Explanation> explanations,
                                             const AttributionMethod& method, const AttributionSettings& settings);

}  // namespace coterie
