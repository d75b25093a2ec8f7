#include "device_sdk/agent/update_layout.h"

#include <memory>
#include <string>
#include <utility>

#include "device_sdk/agent/drift_state.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/narrow_model.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/plan.h"

namespace coterie {
namespace {

Error other_count(const char* what, uint64_t said, uint64_t found) {
  return Error(ErrorCode::refused,
               std::string("plan: says ") + std::to_string(said) + what + ", the model has " + std::to_string(found));
}

}  // namespace

UpdateLayout::UpdateLayout(const Model& trained, const TrainingSettings& training, ValueSelection selection)
    : trained_values_(trained.value_count()), selection_(std::move(selection)), whole_values_(trained.value_count()) {
  const std::vector<ValueRange> parameters = parameter_values(trained.graph());
  parameters_ = selection_.placed(parameters);
  const std::vector<RunningStatistics> statistics = shared_statistics(trained.graph(), training);
  statistics_ = selection_.placed(statistics);
}

Result<UpdateLayout> UpdateLayout::of(const Model& trained, uint64_t model_values, const Plan& plan) {
  const UpdateRules& rules = plan.update;
  if (rules.model_value_count() != model_values) return other_count(" values", rules.model_value_count(), model_values);
  COT_ASSIGN(ValueSelection personal, personal_values(trained.graph(), plan.training, model_values));
  COT_ASSIGN(std::vector<std::string> names, personal_parameter_names(trained.graph(), plan.training));
  const auto with_own = [&](ValueSelection selection) {
    UpdateLayout layout(trained, plan.training, std::move(selection));
    layout.personal_ = std::move(personal);
    layout.personal_names_ = std::move(names);
    layout.clusters_ = cluster_count(plan.training);
    return layout;
  };
  const uint32_t clusters = cluster_count(plan.training);
  if (clusters > 1 && trained.value_count() * clusters != model_values) {
    return other_count(" values of all clusters", model_values, trained.value_count() * clusters);
  }
  if (!rules.has_trained_alone()) return with_own(ValueSelection::all(model_values / clusters));
  COT_ASSIGN(ValueSelection selection, trained_values(trained.graph(), plan.training));
  if (selection.count() * clusters != rules.step_value_count()) {
    return other_count(" values are trained", rules.step_value_count(), selection.count() * clusters);
  }
  return with_own(std::move(selection));
}

UpdateLayout UpdateLayout::narrowed(uint32_t width_class, std::vector<SlicePiece> pieces,
                                    uint64_t trained_values) const {
  UpdateLayout layout = *this;
  layout.width_class_ = width_class;
  layout.pieces_ = std::make_shared<const std::vector<SlicePiece>>(std::move(pieces));
  layout.trained_values_ = trained_values;
  return layout;
}

void UpdateLayout::read_delta(const Trainer& trainer, std::span<float> update) const {
  if (selection_.count() == trained_values_) return trainer.delta(update);
  std::vector<float> delta(trained_values_);
  trainer.delta(delta);
  if (pieces_) delta = widened(*pieces_, delta, whole_values_);
  selection_.gather(delta, update);
}

TrainOptions UpdateLayout::options(const TrainingSettings& settings, uint64_t seed, std::vector<float> state,
                                   std::span<const float> control) const {
  TrainOptions options = options_with_state(settings, seed, std::move(state), control);
  if (settings.personal && settings.personal->first_epochs > 0) {  // they have been trained
    options.freeze.insert(options.freeze.end(), personal_names_.begin(), personal_names_.end());
  }
  if (options.gradient_offset) {
    options.gradient_offset =
        std::make_shared<const std::vector<float>>(selection_.spread(*options.gradient_offset, trained_values_));
  }
  return options;
}

}  // namespace coterie
