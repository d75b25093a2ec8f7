// Which rows a round of trees looks at, and what each of them stands for: gradient-based one-side sampling (G. Ke et
// al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, NeurIPS 2017, algorithm 2).
#pragma once

#include <span>
#include <vector>

#include "secure/crypto/secret.h"
#include "secure/he/pair_packing.h"
#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {

// Samples a round of gradients ([class][row], gradients.h) and returns the rows that are looked at, ascending. A row is
// as large as the sum of its classes' |gradient|; of equal ones the earlier row is larger. Pairs of the rows that are
// drawn among the others are multiplied by (how many others there are / how many are drawn) and rounded to the nearest,
// away from zero in the middle. Those of rows that are not looked at become zero.
//
// `seed` is the label party's alone: whoever knew it could tell which of the rows are large ones. Sums stay within
// sum_bits(): rows that are drawn stand for as many as there are.
std::vector<uint32_t> sample_gradients(const Goss& goss, const Secret<32>& seed, uint32_t round,
                                       std::span<std::vector<SumPair>> gradients);

}  // namespace coterie::vertical
