#include "tools/job_plan/job_plan.h"

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "device_sdk/agent/device_width.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/plan_watch.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/codec/codec.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"
#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/job_settings.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/round_terms.h"
#include "secure/dp/ledger/ledger.h"
#include "secure/secagg/round_session.h"
#include "tools/demo/download_bytes.h"
#include "tools/demo/update_bytes.h"

namespace coterie {
namespace {

// Backward passes compute the gradients of inputs and of parameters: twice the forward pass.
constexpr double kTrainingPasses = 3;

// Counts of a job are the file's: what is beyond any fleet is shown as the most there is.
uint64_t times(uint64_t bytes, uint64_t count) { return checked_multiply(bytes, count).value_or(UINT64_MAX); }

uint64_t examples_trained(const TrainingSettings& training, uint64_t examples) {
  const uint64_t all = times(examples, training.local_epochs);
  if (training.steps_max == 0) return all;
  return std::min(all, uint64_t{training.steps_max} * training.batch_size);
}

// What a device trains of its own before (own_training.h), and what it keeps.
Status add_own_training(const Model& model, const UpdateLayout& layout, const TrainingSettings& training,
                        uint64_t examples, DevicePlan& device) {
  if (!training.personal) return {};
  device.own_bytes = (layout.clusters() > 1 ? 1 : layout.personal().count()) * sizeof(float);
  if (!has_own_training(training)) return {};
  COT_ASSIGN(const OwnTraining own, own_training(model, layout, training, 0, {}));
  COT_ASSIGN(const TrainingMemory memory, Trainer::plan(own.model, own.options, examples));
  device.memory_bytes = std::max(device.memory_bytes, memory.bytes());
  TrainingSettings first = training;
  first.local_epochs = own.options.epochs;
  const uint64_t trained = examples_trained(first, examples);
  device.examples += trained;
  device.operations += model.flops() * kTrainingPasses * static_cast<double>(trained);
  return {};
}

// `passes`: forward passes of one example that a training costs.
Status add_widths(const Model& model, const UpdateLayout& layout, const TrainingSettings& training, uint64_t examples,
                  double passes, DevicePlan& device) {
  for (uint32_t i = 0; i < training.widths.size(); ++i) {
    COT_ASSIGN(const WidthWork work, work_at_width(model, layout, training, i));
    COT_ASSIGN(const TrainingMemory memory,
               Trainer::plan(work.model, work.layout->options(training, 0, {}, {}), examples));
    device.widths.push_back(
        {training.widths[i], work.model.value_count(), memory.bytes(), work.model.flops() * passes});
  }
  return {};
}

void add_evaluation(const AnalyticsRules& rules, DevicePlan& device) {
  const EvaluationRules& evaluation = *rules.evaluation;
  for (const EvaluatedModel& evaluated : evaluation.models) {
    device.down_bytes += evaluated.bytes;
    device.delta_down_bytes += evaluated.bytes;
  }
  device.answers = device.examples * evaluation.models.size();
  if (evaluation.ranges) device.answers *= evaluation.ranges->tensors.size();  // of a part of the model each
  if (!evaluation.importance) return;
  device.answers += device.examples * evaluation.importance->columns.size() * evaluation.importance->repeats;
  device.memory_bytes += device.examples * rules.input_values * sizeof(float);
}

Result<DevicePlan> plan_device(const Plan& plan, const DownloadSettings& download, const Model& model,
                               uint64_t examples) {
  DevicePlan device;
  // From the second round on: in the first one no control is named.
  device.down_bytes = model.file().size() + encode(plan).size() + handed_value_count(plan.update) * sizeof(float);
  device.delta_down_bytes = device.down_bytes - model.file().size() + download_bytes(download, model.file());
  device.up_bytes = update_bytes(plan);
  device.clusters = cluster_count(plan.training);
  if (plan.analytics) {
    device.counts = true;
    device.examples = std::min<uint64_t>(examples, plan.analytics->values_max);
    device.memory_bytes = (plan.update.value_count + plan.analytics->input_values) * sizeof(float);
    if (plan.analytics->evaluation) add_evaluation(*plan.analytics, device);
    device.micro_batch_size = 1;
    return device;
  }
  COT_ASSIGN(const Model trained, model_to_train(model, plan.training));
  COT_ASSIGN(const UpdateLayout layout, UpdateLayout::of(trained, model.value_count(), plan));
  const TrainOptions options = layout.options(plan.training, 0, {}, {});
  COT_ASSIGN(const TrainingMemory memory, Trainer::plan(trained, options, examples));
  device.memory_bytes = memory.bytes();
  if (plan.training.watch) {
    COT_ASSIGN(const auto watch, PlanWatch::create(trained, plan, options, examples, {}));
    device.memory_bytes += watch->bytes_max();
  }
  device.micro_batch_size = memory.micro_batch_size;
  // Early stopping may end it before; what it takes at most is told.
  const uint64_t held_out =
      plan.training.early_stopping ? held_out_count(examples, plan.training.early_stopping->validation_share) : 0;
  device.examples = examples_trained(plan.training, examples - held_out);
  const double passes = kTrainingPasses * static_cast<double>(device.examples) +
                        static_cast<double>(times(held_out, plan.training.local_epochs));
  device.operations = trained.flops() * passes;
  if (GivenPass::is_asked_by(plan)) {
    COT_ASSIGN(const GivenPass::Cost before, GivenPass::plan(trained, plan, examples));
    device.memory_bytes = std::max(device.memory_bytes, before.bytes);  // it is gone when training begins
    device.operations += trained.flops() * before.passes * static_cast<double>(examples);
  }
  COT_TRY(add_own_training(trained, layout, plan.training, examples, device));
  COT_TRY(add_widths(trained, layout, plan.training, examples, passes, device));
  return device;
}

Result<CohortPlan> plan_cohort(const HorizontalSettings& settings, const Plan& plan) {
  CohortPlan cohort;
  cohort.cohorts = cohort_count(settings);
  cohort.devices = adverts_goal(settings) / cohort.cohorts;
  const secagg::SessionParameters session = secagg::session_parameters(plan, plan.job, {}, {}, {});
  COT_ASSIGN(const secagg::GraphShape shape, secagg::shape_for(session, cohort.devices));
  cohort.holders = shape.holders;
  cohort.threshold = shape.threshold;
  cohort.is_complete = shape.kind == secagg::GraphKind::complete;
  const uint32_t opened_without = cohort.is_complete
                                      ? cohort.devices - cohort.threshold
                                      : static_cast<uint32_t>(settings.privacy.dropout_share * cohort.devices);
  cohort.losses_max = std::min(opened_without, cohort.devices - std::min(cohort.devices, session.survivors_min));
  return cohort;
}

// The budget's rounds: epsilon grows with their number.
Result<SpendingPlan> plan_spending(const HorizontalSettings& settings, uint64_t value_count) {
  const LedgerRelease release = release_of(settings, value_count);
  const bool is_charged_once = settings.privacy.has_tree_noise();
  const double delta = settings.privacy.target_delta;
  const auto account_of_rounds = [&](uint64_t rounds) {
    return account_of({{release, is_charged_once ? 1 : rounds}}, delta);
  };
  SpendingPlan spending{.epsilon_budget = settings.privacy.epsilon_budget, .delta = delta};
  COT_ASSIGN(const PrivacyAccount whole, account_of_rounds(settings.rounds.count));
  spending.epsilon = whole.epsilon;
  uint64_t fits = 0, fails = uint64_t{settings.rounds.count} + 1;
  if (whole.epsilon <= spending.epsilon_budget) fits = settings.rounds.count;
  while (fails - fits > 1) {
    const uint64_t middle = fits + (fails - fits) / 2;
    COT_ASSIGN(const PrivacyAccount account, account_of_rounds(middle));
    (account.epsilon <= spending.epsilon_budget ? fits : fails) = middle;
  }
  spending.rounds = fits;
  return spending;
}

}  // namespace

Result<JobPlan> plan_job(const JobSettings& settings, const Model& model, uint64_t examples) {
  const HorizontalSettings& horizontal = settings.horizontal();
  JobPlan job;
  job.name = settings.common.name;
  job.level = horizontal.privacy.level;
  job.rounds = horizontal.rounds.count;
  const JobId id("planned");  // of no consequence but for a plan's bytes
  COT_ASSIGN(const ModelValues values, values_of(horizontal, model.graph(), model.value_count()));
  RoundFacts facts;
  if (horizontal.adaptive_mu) {
    job.mu = {.first = horizontal.training.proximal_mu, .most = horizontal.adaptive_mu->max};
    facts.proximal_mu = static_cast<double>(job.mu->most);  // what it may cost at most
  }
  const Plan plan = with_terms(plan_of(horizontal, id, values), terms_of(horizontal, facts));
  COT_ASSIGN(job.device, plan_device(plan, horizontal.download, model, examples));
  job.round.tickets = horizontal.rounds.ticket_count();
  job.round.goal = horizontal.rounds.goal_count;
  job.round.goal_min = horizontal.rounds.goal_count_min;
  job.round.down_bytes = times(job.device.down_bytes, job.round.tickets);
  job.round.up_bytes = times(job.device.up_bytes, job.round.goal);
  if (horizontal.aggregation.keeps_updates()) {
    job.round.kept_bytes = times(job.device.up_bytes, kept_updates_max(horizontal.rounds));
  }
  if (job.level != SecurityLevel::none) {
    COT_ASSIGN(job.round.cohort, plan_cohort(horizontal, plan));
    if (compares_cohorts(horizontal)) {
      job.round.rule = plan_rule(horizontal.aggregation, adverts_goal(horizontal), cohort_count(horizontal));
    }
  }
  if (horizontal.privacy.has_noise()) {
    COT_ASSIGN(job.spending, plan_spending(horizontal, values.step_count()));
  }
  const uint64_t apart = std::min<uint64_t>(horizontal.rounds.separation_min, job.rounds_done());
  if (apart > 1) job.population_min = times(job.round.goal, apart);
  // The first round's model is whole, and so is a round's that begins with a keyframe.
  const uint64_t rounds = job.rounds_done(), every = horizontal.download.keyframe_every;
  const bool has_deltas = horizontal.download.is_on() && rounds > 0;
  const uint64_t deltas = has_deltas ? rounds - 1 - (every > 0 ? (rounds - 1) / every : 0) : 0;
  const uint64_t by_deltas = times(times(job.device.delta_down_bytes, job.round.tickets), deltas);
  const uint64_t whole = times(job.round.down_bytes, rounds - deltas);
  job.down_bytes = whole + std::min(by_deltas, UINT64_MAX - whole);
  job.up_bytes = times(job.round.up_bytes, job.rounds_done());
  return job;
}

}  // namespace coterie
