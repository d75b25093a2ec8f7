#include "device_sdk/agent/own_training.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

constexpr uint64_t kOwnDraw = 0x6f776e;  // no meaning but that it never changes

bool has_part(const TrainingSettings& settings) { return settings.personal->kind == PersonalKind::part; }

// lambda (v - given) = lambda (v - start) + lambda (start - given): the trainer pulls to its start by itself.
std::shared_ptr<const std::vector<float>> pull_of_start(std::span<const float> start, std::span<const float> given,
                                                        float lambda) {
  std::vector<float> pull(start.size());
  for (size_t i = 0; i < pull.size(); ++i) pull[i] = lambda * (start[i] - given[i]);
  return std::make_shared<const std::vector<float>>(std::move(pull));
}

}  // namespace

bool has_own_training(const TrainingSettings& settings) {
  if (!settings.personal) return false;
  return settings.personal->kind == PersonalKind::model || settings.personal->first_epochs > 0;
}

Result<Model> with_own_values(const Model& model, const ValueSelection& own, std::span<const float> values) {
  if (values.empty()) return model;
  if (values.size() != own.count()) {
    return Error(ErrorCode::data_loss, "what this device keeps has " + std::to_string(values.size()) +
                                           " values, of this model it would be " + std::to_string(own.count()));
  }
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  for (const ValueRange& range : own.ranges()) {
    std::ranges::copy(values.first(range.count), parameters.begin() + static_cast<std::ptrdiff_t>(range.first));
    values = values.subspan(range.count);
  }
  return Model::load(model.file_with(parameters));
}

Result<OwnTraining> own_training(const Model& given, const UpdateLayout& layout, const TrainingSettings& settings,
                                 uint64_t seed, std::span<const float> kept) {
  COT_ASSERT(has_own_training(settings));
  COT_ASSIGN(Model start, with_own_values(given, layout.personal(), kept));
  TrainOptions options = options_of(settings, Prng::derived(seed, kOwnDraw).next());
  options.early_stopping.reset();  // it is of the update
  if (has_part(settings)) {
    options.epochs = settings.personal->first_epochs;
    options.train_only = layout.personal_names();
    options.train_last = 0;
    options.freeze_statistics = true;  // the rest stays as it is
  } else {
    options.proximal_mu = settings.personal->lambda;
    if (!kept.empty()) options.gradient_offset = pull_of_start(kept, given.parameters(), options.proximal_mu);
  }
  return OwnTraining{std::move(start), std::move(options)};
}

std::vector<float> own_values(const UpdateLayout& layout, const Trainer& trainer) {
  std::vector<float> values(layout.personal().count());
  layout.personal().gather(trainer.parameters(), values);
  return values;
}

Result<Model> model_of_update(const Model& given, const UpdateLayout& layout, const TrainingSettings& settings,
                              std::span<const float> own) {
  if (!settings.personal || !has_part(settings)) return given;
  return with_own_values(given, layout.personal(), own);
}

std::vector<float> next_own(const UpdateLayout& layout, const TrainingSettings& settings, const Trainer& trainer,
                            std::vector<float> own) {
  return has_part(settings) ? own_values(layout, trainer) : std::move(own);
}

}  // namespace coterie
