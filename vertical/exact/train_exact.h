// Logistic regression over columns that two organisations hold, as gradient descent on exact residuals, which
// go to the feature party encrypted: the entry for whoever runs a job.
//
//   label party:    start_label_exact(run, columns, labels, make_paillier_key(...))
//   feature party:  start_feature_exact(run, columns, seed, paillier_cipher)
//   both:           run the stage until done(); then model() is the party's part
//
// Row i is the same person at both parties. Weights are those of one table within 10^-9, where the feature party's
// columns are rounded to 2^-12 deviations. What it costs is row L7 of docs/VERTICAL.md: the label party sees what the
// other's columns add to each person's margin in each step, the feature party the exact gradient of its own weights.
// Batches whose gradients would tell labels are refused (exact_settings.h), by each party before it says anything that
// follows from its columns or labels.
//
// Not thread-safe. Stages hold their arguments by value.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "vertical/exact/exact_checkpoint.h"
#include "vertical/exact/exact_settings.h"
#include "vertical/regression/regression_model.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr PartyIndex kExactLabelParty = 0, kExactFeatureParty = 1;

struct ExactRun {
  RegressionSettings settings;
  uint32_t rows = 0;
  ExactCheckpoint from = {};  // both parties' of the same step, or the begin
};

class ExactTraining : public Stage {
 public:
  virtual RegressionModel model() const = 0;  // when done()
  virtual uint32_t steps_done() const = 0;
  // It must be durable before next() is called again.
  virtual std::optional<ExactCheckpoint> take_checkpoint() = 0;
};

// Makes what sums ciphertexts from the public key that the label party sent.
using ExactCipherMaker = Result<std::unique_ptr<AdditiveCipher>> (*)(ByteView public_key, Secret<32> seed);

// `columns` [column][row], NaN where there is no value; `labels` one a row: 0 or 1. A key and a seed are for one start:
// a training that goes on has others. Both: `refused` with the reason "batch_reveals_labels", and invalid_argument for
// what does not fit. While it runs: `refused` with the reason "regression_diverged" for weights beyond all range.
Result<std::unique_ptr<ExactTraining>> start_label_exact(ExactRun run, const std::vector<std::vector<float>>& columns,
                                                         std::vector<float> labels, std::unique_ptr<AdditiveKey> key);
Result<std::unique_ptr<ExactTraining>> start_feature_exact(ExactRun run, const std::vector<std::vector<float>>& columns,
                                                           Secret<32> seed, ExactCipherMaker make_cipher);

}  // namespace coterie::vertical
