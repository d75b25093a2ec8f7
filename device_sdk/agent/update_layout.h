// UpdateLayout: what of a trained model an update has, in which order: all of it, or the trained values alone
// (proto/messages/trained_values.h). One place for the agent and for `coterie simulate`.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/trained_values.h"

namespace coterie {

class Model;
class Trainer;
struct Plan;
struct SlicePiece;
struct TrainOptions;
struct TrainingSettings;

class UpdateLayout {
 public:
  // `trained` is model_to_train (device_sdk/runtime/lora.h) of a model with `model_values` values. The device derives
  // the layout by itself: refused if the plan says other counts.
  static Result<UpdateLayout> of(const Model& trained, uint64_t model_values, const Plan& plan);

  // Values of one model; an update has as many for each cluster.
  uint64_t count() const { return selection_.count(); }
  uint32_t clusters() const { return clusters_; }  // 1: the job has none
  // Which width is trained, of a job with some: from 0, the whole one (device_width.h).
  uint32_t width_class() const { return width_class_; }
  // The layout of a model that was cut out of this one's, with so many values: where it has none an update has 0.
  UpdateLayout narrowed(uint32_t width_class, std::vector<SlicePiece> pieces, uint64_t trained_values) const;
  // Places in the update.
  std::span<const ValueRange> parameters() const { return parameters_; }
  std::span<const RunningStatistics> statistics() const { return statistics_; }
  // What the device keeps to itself (proto/messages/personal_part.h): places in the model, and parameters by name.
  const ValueSelection& personal() const { return personal_; }
  const std::vector<std::string>& personal_names() const { return personal_names_; }
  // How many values a device keeps from round to round, if it keeps some.
  uint64_t state_count() const {
    if (clusters_ > 1) return 1;  // which it is
    return personal_.count() > 0 ? personal_.count() : count();
  }
  // How far a finished training of that model came.
  void read_delta(const Trainer& trainer, std::span<float> update) const;

  // The layout's values of such a vector, which has all of the trained model's.
  void gather(std::span<const float> values, std::span<float> update) const { selection_.gather(values, update); }

  // The options of the update's training, which goes on from this state, with the server's control (drift_state.h); of
  // one with something personal there is no state here: it is in the model (own_training.h).
  TrainOptions options(const TrainingSettings& settings, uint64_t seed, std::vector<float> state,
                       std::span<const float> control) const;

 private:
  UpdateLayout(const Model& trained, const TrainingSettings& training, ValueSelection selection);

  uint64_t trained_values_;
  ValueSelection selection_;
  std::vector<ValueRange> parameters_;
  std::vector<RunningStatistics> statistics_;
  ValueSelection personal_ = ValueSelection({});
  std::vector<std::string> personal_names_;
  uint32_t clusters_ = 1;
  uint32_t width_class_ = 0;
  std::shared_ptr<const std::vector<SlicePiece>> pieces_;  // of a narrow model; else null
  uint64_t whole_values_;                                  // of the flat vector that the selection is of
};

}  // namespace coterie
