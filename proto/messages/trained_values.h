// Which of a model's values a job's updates have, where that is not all of them: the trained ones (ADR 109). Server and
// device ask the same functions, so that value i of an update is the same number to both.
//
// Trained are the parameters that `freeze`, `train_only`, `train_last` and the model's own frozen marks leave, and the
// running statistics that training moves: batches are normalised by their own statistics in every norm that the model
// does not freeze, whatever is frozen of its parameters, and an evaluation by the running ones has to agree. Updates
// have neither what each device keeps to itself (personal_part.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/lora_pairs.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

struct TrainingSettings;

// What names the parameters that change. Outlived by what it points to.
struct ParameterChoice {
  std::span<const std::string> freeze = {}, train_only = {};  // patterns
  uint32_t train_last = 0;
};

// Which parameters change: a mark for each tensor of the graph. invalid_argument if a pattern matches no parameter,
// the model has fewer layers than train_last, or nothing is left to train.
Result<std::vector<bool>> trained_tensors(const ModelGraph& graph, const ParameterChoice& choice);

// Values of a model's flat vector, one range behind the other in its order; an update has them without gaps.
class ValueSelection {
 public:
  static ValueSelection all(uint64_t count) { return ValueSelection({{0, count}}); }
  // `ranges` do not overlap.
  explicit ValueSelection(std::vector<ValueRange> ranges);

  std::span<const ValueRange> ranges() const { return ranges_; }
  uint64_t count() const { return count_; }

  // Where those of `ranges`, which lie in the flat vector, that are selected lie in the update. A range is selected as
  // a whole or not at all. Statistics are all selected.
  std::vector<ValueRange> placed(std::span<const ValueRange> ranges) const;
  std::vector<RunningStatistics> placed(std::span<const RunningStatistics> statistics) const;

  // From the flat vector to the update's values, and back into a vector of `size` values, 0 where nothing is selected.
  void gather(std::span<const float> flat, std::span<float> values) const;
  std::vector<float> spread(std::span<const float> values, uint64_t size) const;

 private:
  std::vector<ValueRange> ranges_;
  uint64_t count_ = 0;
};

// Those of the model that a device trains and sends: with companions, if the job has some (device_sdk/runtime/lora.h).
// Errors: those of trained_tensors and personal_tensors.
Result<ValueSelection> trained_values(const ModelGraph& graph, const TrainingSettings& training);

// The values of an update of this job, where not all of the model travel: the selected ones, then each pair's B. With
// LoRA no parameter is selected.
struct TrainedPart {
  ValueSelection selection;
  std::vector<LoraPair> pairs;
  uint64_t count() const;
};
// `graph`: of the job's model. Errors: those of trained_tensors, personal_tensors and lora_pairs.
Result<TrainedPart> trained_part(const ModelGraph& graph, const TrainingSettings& training);

// The count of such a part; 0 if training changes every parameter, none is the device's own, and updates have every
// value.
Result<uint64_t> trained_value_count(const ModelGraph& graph, const TrainingSettings& training);

}  // namespace coterie
