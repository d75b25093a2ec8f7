// Gradients and weights of trees, with the float32 operations of XGBoost 1.7 in their order, so that results are the
// same bits: src/objective/{regression_loss.h,multiclass_obj.cu}, src/tree/param.h, src/tree/split_evaluator.h there.
//
// Sums are of integers, gradients times 2^40: exact in any order, which encrypted sums must be. At this scale no tree
// of the oracles differs (shared/vectors/vertical/lossless_check.py).
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "secure/he/pair_packing.h"
#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {

constexpr int kGradientScaleBits = 40;

// invalid_argument with the first row whose label does not fit the objective.
Status check_labels(const TreeSettings& settings, std::span<const float> labels);

// The margin that each row begins with: base_score 0.5.
float base_margin(TreeObjective objective);

// [class][row]: a row's gradient (first) and second derivative, times 2^40. `margins` and scores are row by row, a
// class after the other.
std::vector<std::vector<SumPair>> gradients(const TreeSettings& settings, std::span<const float> labels,
                                            std::span<const float> margins);

// Bits that a sum over `rows` needs with its sign (PairPacking): depends on no label.
size_t sum_bits(TreeObjective objective, uint32_t rows);

// What a prediction says of margins, in place.
void scores_of_margins(const TreeSettings& settings, std::span<float> margins);

// CalcGain and CalcWeight times eta.
float node_gain(const SumPair& sum, const TreeSettings& settings);
float leaf_weight(const SumPair& sum, const TreeSettings& settings);
// Whether a child may be so light.
bool heavy_enough(const SumPair& sum, const TreeSettings& settings);

// How much a split improves; of a split that is not allowed, 0.
float split_gain(const SumPair& left, const SumPair& node, const TreeSettings& settings);
constexpr float kSplitGainMin = 1e-6f;  // what is not above it is no split (kRtEps)

}  // namespace coterie::vertical
