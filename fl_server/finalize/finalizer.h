// Finalizer: from a frozen round's partial sums to the next model, in memory that does not depend on the model or the
// number of updates (what the strategy carries from round to round excepted: it is held whole; and of a job with
// widths a range for each row of a tensor that is cut).
//
// Reads partial sums and base model tile by tile, checks what it reads (digests, and that the partials hold exactly as
// many updates as there are accept rows), writes the new model and the strategy's state as blobs. Commits nothing:
// doing it twice, or on two nodes, gives the same bytes under the same names.
//
// Where the job has a robust aggregation rule the partials hold the updates themselves, or the sums of cohorts. What
// the rule makes of them is what the strategy gets as their mean (robust_mean.h).
//
// The model's graph says which values are whose: parameters are moved by the job's strategy, running statistics as
// proto/messages/running_statistics.h says, and all else (frozen statistics, padding, parameters that the job does not
// train) is as it was.
//
// A job with central noise has its release reserved in the privacy ledger first. Then the attempt's noise (that of a
// tree less what ends with it: round_noise.h) is added to the integer sum, once, before anything is made of the sum;
// what is committed for it is up to the store's commit_round. The noisy sum is divided by the plan's goal_count
// (scheduler/job/central_noise.h). Where devices add the noise the release is reserved before their sum is opened
// (freeze_cohort), and what is committed names the session.
//
// A job with analytics has a table for its model (proto/codec/analytics_table.h): the sum is added to it undivided, or
// to the round's own block of it. Such a job ends where its counts leave nothing to ask (is_last).
//
// Where the job's models come as deltas the next version is what devices will make of one (published_model.h): that is
// evaluated, and named. The model as it was computed goes on beside it.
//
// Where each partial sum says how long its updates are, and the job has no noise, the next model says it of the round.
//
// Where the clip adapts itself the mean is scaled by the round's clip norm, and the noisy count of updates within it
// gives the next one, which is committed with the model.
#pragma once

#include <functional>
#include <optional>

#include "fl_server/finalize/sum_masks.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/ledger_store.h"
#include "scheduler/round/round_moves.h"

namespace coterie {

class RoundNoiseMaker;
class RoundProbe;

struct ModelEvaluation {
  double loss = 0;
  std::optional<double> accuracy = {};      // of labels
  std::optional<double> mae = {}, r2 = {};  // of numbers (device_sdk/runtime/metrics.h); no r2 where all are the same
  std::vector<EvaluatedHead> heads = {};    // of a training with heads
};
// Evaluates a whole model file on a data set file, by the job's loss.
using EvaluateModel =
    std::function<Result<ModelEvaluation>(const Bytes& model, const Bytes& dataset, const TrainingSettings& training)>;

class Finalizer {
 public:
  // `blobs` holds models, strategy state and data sets, `partials` the partial sums. `evaluate` may be empty.
  // `probe`: hears of the calls of the stores, on the thread of finalize(); null: nobody does.
  Finalizer(AcceptStore& accepts, LedgerStore& ledger, BlobStore& blobs, BlobStore& partials, RoundNoiseMaker& noise,
            EvaluateModel evaluate, RoundProbe* probe = nullptr)
      : accepts_(accepts),
        ledger_(ledger),
        blobs_(blobs),
        partials_(partials),
        noise_(noise),
        evaluate_(std::move(evaluate)),
        probe_(probe) {}

  // data_loss if what is stored does not fit together: the round cannot be finalized from it. invalid_argument if the
  // next model may not be released: a value or its evaluation is not finite, a batch norm's variance is below 0, or the
  // aggregation rule needs more updates; the round machine ends the job for it. permission_denied if the privacy budget
  // does not admit the release.
  // `masks`: of a round with secure aggregation, which has lanes behind the values: the sum of the weights, and the
  // check lanes, without which the sum is data_loss.
  Result<FinalizedRound> finalize(const JobRecord& job, const RoundRecord& round, const ModelRecord& base, WallTime now,
                                  const SumMasks* masks = nullptr) const;

 private:
  AcceptStore& accepts_;
  LedgerStore& ledger_;
  BlobStore& blobs_;
  BlobStore& partials_;
  RoundNoiseMaker& noise_;
  EvaluateModel evaluate_;
  RoundProbe* const probe_;
};

}  // namespace coterie
