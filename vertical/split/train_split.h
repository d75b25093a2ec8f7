// A split network over columns that two organisations hold, as stages (vertical/stage/stage.h): the entry for whoever
// runs a job.
//
//   both:           columns = fit_columns(...); inputs = encode_columns(columns, ...)
//   feature party:  start_feature_split(run, make_feature_network(...), inputs)
//   label party:    start_label_split(run, make_label_network(...), inputs, labels)
//   both:           run the stage until done(); then network() is the party's part of the network
//
// Row i is the same person at both parties. A step: the feature party computes its part on a batch and says what
// crosses the cut; the label party computes the rest and the loss (mean log loss), moves its part by its own gradient,
// and says the gradients at the cut; the feature party moves its part by them. With several batches in flight the
// feature party has said up to in_flight batches whose gradients are still to come, each computed as soon as the one
// in_flight steps before has come back: a schedule without a clock, so that the same seeds give the same bits. Its
// gradient is then taken at its present weights (the batch is computed again), the label party's never is old.
//
// What each learns beyond its part: rows L8 and L9 of docs/VERTICAL.md. Not thread-safe. Stages hold their arguments by
// value.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "secure/crypto/secret.h"
#include "vertical/split/split_checkpoint.h"
#include "vertical/split/split_columns.h"
#include "vertical/split/split_settings.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

struct SplitRun {
  SplitSettings settings;
  Digest order;               // the same at both parties, of this job alone (BatchOrder)
  Secret<32> seed;            // the party's own: of noise, rounding and turned labels
  SplitCheckpoint from = {};  // both parties' of the same step, or the begin
};

class SplitTraining : public Stage {
 public:
  // When done(): the party's part of the network, as a model file.
  virtual Bytes network() const = 0;
  virtual uint32_t steps_done() const = 0;
  // As RegressionTraining's: it must be durable before next() is called again.
  virtual std::optional<SplitCheckpoint> take_checkpoint() = 0;
  // The label party's: mean loss of each epoch that is over. Empty at the feature party.
  virtual std::vector<double> losses() const = 0;
};

// invalid_argument for what does not fit: the network's inputs and ends, rows, a checkpoint of another training. A
// training that leaves the range of floats ends with the reason "split_diverged".
Result<std::unique_ptr<SplitTraining>> start_feature_split(SplitRun run, const Model& network, SplitInputs inputs);
// `labels`: 0 or 1, one a row.
Result<std::unique_ptr<SplitTraining>> start_label_split(SplitRun run, const Model& network, SplitInputs inputs,
                                                         const std::vector<float>& labels);

}  // namespace coterie::vertical
