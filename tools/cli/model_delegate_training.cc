#include "tools/cli/model_delegate_training.h"

#include <algorithm>
#include <utility>

#include "device_sdk/runtime/delegate/gradient_check.h"
#include "device_sdk/runtime/delegate/training_delegation.h"
#include "device_sdk/runtime/random_examples.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

constexpr uint32_t kBatches = 4;          // that differ; then they come again in another order
constexpr float kLearningRate = 0.0001f;  // labels are random: parameters move, and no training diverges for it

TrainOptions training_for(const ModelDelegateOptions& options) {
  TrainOptions training;
  training.loss.kind = options.loss;
  training.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = kLearningRate};
  training.batch_size = options.batch_size;
  training.threads = options.threads;
  training.steps_max = 1 + options.steps + static_cast<uint32_t>(kGradientTries);
  training.epochs = training.steps_max / kBatches + 1;
  return training;
}

bool is_unsettled(const DelegateReport& report) {
  return std::ranges::any_of(report.parts, [](const auto& part) { return !part.unsettled.empty(); });
}

}  // namespace

Result<MeasuredTraining> measure_delegated_training(const Model& model, Delegate& delegate,
                                                    const ModelDelegateOptions& options) {
  const TrainOptions training = training_for(options);
  RandomExamples examples(model, training.loss, uint64_t{kBatches} * options.batch_size);
  TrainingDelegation delegation(delegate, {.takes_whatever_cost = options.takes_whatever_cost});
  COT_ASSIGN(Trainer own, Trainer::create(model, training, examples));
  COT_ASSIGN(Trainer delegated, Trainer::create(model, training, examples, delegation));
  const auto report_now = [&] { return std::move(delegation.report().at(0).report); };
  const auto own_step = [&] { return own.step(); };
  const auto delegated_step = [&] { return delegated.step(); };
  MeasuredTraining measured;
  COT_ASSIGN(measured.first_seconds, seconds_of(delegated_step));
  COT_TRY(own_step());
  COT_ASSIGN(measured.seconds, seconds_by_turns(options.steps, own_step, delegated_step));
  for (int more = 1; more < kGradientTries && is_unsettled(report_now()); ++more) COT_TRY(delegated_step());
  measured.report = report_now();
  return measured;
}

}  // namespace coterie
