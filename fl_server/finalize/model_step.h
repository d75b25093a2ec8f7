// ModelStep: which values of a round's mean move which of the model's, from the model's first tile to its last.
//
// An update has all values of the model, or the trained ones alone (proto/messages/trained_values.h); of a job with
// LoRA each pair's B, which the strategy moves from 0. Parameters that are not in it keep their bits. Behind them may
// be a control part, a clip bit or scalars. Nor do those move that no device of the round has trained
// (holder_means.h).
//
// A strategy that moves matrices sees the mean of each as a whole, so that the mean is read before the first tile.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "proto/messages/linear_maps.h"
#include "proto/messages/model_widths.h"
#include "proto/messages/plan.h"
#include "proto/messages/trained_values.h"

namespace coterie {

class MeanReader;
class MeanSource;
class StrategyState;

class ModelStep {
 public:
  // What a round's updates have of the model. data_loss if the plan's count is not that of `graph`, the job's model.
  // `base`: the version that the round moves; of a table with several blocks it says which one.
  static Result<ModelStep> of(const Plan& plan, const ModelGraph& graph, ModelVersion base);

  // Places in an update: of the parameters that it has, or of their companions; and of the running statistics.
  const std::vector<ValueRange>& parameters() const { return parameters_; }
  // Places in the model of what the updates have of it.
  std::span<const ValueRange> trained() const { return part_.selection.ranges(); }
  std::vector<RunningStatistics> placed(std::span<const RunningStatistics> statistics) const {
    return part_.selection.placed(statistics);
  }

  // First: the means that the others read, of what the round's updates come to.
  Result<std::unique_ptr<MeanSource>> means_of_holders(std::unique_ptr<MeanSource> mean);
  // Then: the share of the round's weight that each cluster has; none of a job without clusters.
  const std::vector<double>& cluster_shares() const { return cluster_shares_; }

  // Then, in this order: begin, move for each tile of the model, finish. What is given to `begin` outlives this.
  Status begin(MeanSource& mean, StrategyState& state);
  Status move(uint64_t offset, std::span<float> weights);
  Status finish();

  double clip_bits_mean() const { return clip_bits_mean_; }  // of what finish has read
  // Likewise: the means of a watch's lanes, noise included (proto/messages/watch_noise.h); none without noise.
  const std::vector<float>& watch_means() const { return watch_means_; }

 private:
  ModelStep(const Plan& plan, TrainedPart part) : plan_(plan), part_(std::move(part)) {}

  Status take(std::span<float> mean);
  Status read(std::span<float> mean);
  Status move_matrices();
  Status begin_round(const MeanSource& mean);
  Status begin_lora();
  void merge_lora(uint64_t offset, std::span<float> weights) const;

  Plan plan_;
  TrainedPart part_;
  std::vector<ValueRange> model_parameters_;
  std::vector<ValueRange> parameters_;
  std::vector<LinearMap> maps_;  // places in an update
  std::shared_ptr<MeanReader> means_;
  StrategyState* state_ = nullptr;
  uint64_t updates_ = 0;
  uint64_t taken_ = 0;              // values of the mean
  std::vector<WidthBlock> blocks_;  // of a job with widths; places in an update
  std::vector<double> cluster_shares_;
  std::vector<ValueRange> untouched_;  // places that nobody has trained; rising
  double clip_scale_ = 1;
  double clip_bits_mean_ = 0;
  std::vector<float> watch_means_;
  std::vector<float> mean_;
  std::vector<float> held_;   // of a strategy that moves matrices: the mean of the model's values
  std::vector<float> a_, b_;  // LoRA: the pairs' A, and how far their B moves
};

}  // namespace coterie
