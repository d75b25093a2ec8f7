// Sums of encrypted residuals times whole numbers that whoever sums knows: a column's part of a gradient.
//
// By buckets (N. Pippenger, On the evaluation of powers and monomials, 1980): a value above the column's least one is
// cut into digits of w bits; the ciphertexts of all rows with the same digit are added, and the buckets' sums weighted
// by running sums. That is one addition for each row and digit and two for each bucket, where a power for each row
// would take some twenty. What the least value adds is the least value times the sum of all residuals, of which the
// label party sends the negative's ciphertext, so that no inverse is needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secure/he/additive_cipher.h"

namespace coterie::vertical {

// For each column the ciphertext of sum over rows of values[row] * residual[row]; the same each time, so rerandomize.
// `columns`: as many values each as `residuals` has, of a magnitude of at most 2^20. `minus_all`: of minus the sum of
// the residuals.
std::vector<CiphertextPtr> residual_sums(const AdditiveCipher& cipher, const CiphertextList& residuals,
                                         const Ciphertext& minus_all,
                                         std::span<const std::span<const int32_t>> columns);

}  // namespace coterie::vertical
