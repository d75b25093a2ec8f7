// What the job of two parties is compared with: the same trees in one process, without encryption, or the same
// regression with the exact sigmoid, or in closed form.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/regression/ridge.h"
#include "vertical/trees/tree_settings.h"

namespace coterie {

struct PlainData {
  std::vector<std::vector<float>> train, held_out;  // [column][row]
  std::vector<float> labels;                        // of the training rows
};

// Trains on all of these columns and scores the held-out rows. `sample_seed` as in LabelTraining.
Result<std::vector<float>> plain_scores(const PlainData& data, const vertical::TreeSettings& settings, uint32_t bins,
                                        Secret<32> sample_seed);

Result<std::vector<float>> plain_linear_scores(const PlainData& data, const vertical::RidgeSettings& settings);

std::vector<float> plain_regression_scores(const PlainData& data, const vertical::RegressionSettings& settings);

}  // namespace coterie
