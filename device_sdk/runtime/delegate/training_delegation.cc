#include "device_sdk/runtime/delegate/training_delegation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device_sdk/runtime/delegate/fence.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/training_runner.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {
namespace {

struct DelegatedPart {
  std::shared_ptr<TrainingRunner> runner;  // null: it was not compiled
  std::string refusal;
};

struct BatchParts {
  uint32_t batch_size = 0;
  Partition plan;
  std::vector<DelegatedPart> parts;  // of plan.parts
  ExternalParts external;            // those that are not refused
};

// Why our kernels compute all of a training. Empty: they need not.
std::string own_reason(const TrainOptions& options) {
  if (options.qat) return "the training counts on int8, for which we round ourselves";
  if (options.storage == Storage::bfloat16) return "the training holds values as bfloat16, to which we round ourselves";
  return {};
}

}  // namespace

struct TrainingDelegation::State {
  Delegate& delegate;
  TrainingDelegationSettings settings;
  DelegateTraits traits = {};
  std::optional<Model> model = {};
  uint32_t threads = 1;
  PartitionSettings asked = {};
  std::vector<std::unique_ptr<BatchParts>> batches = {};

  Result<std::unique_ptr<BatchParts>> made_for(uint32_t batch_size) {
    auto batch = std::make_unique<BatchParts>();
    batch->batch_size = batch_size;
    asked.batch_size = batch_size;
    COT_ASSIGN(batch->plan, partition(*model, delegate, asked));
    for (const PlannedPart& part : batch->plan.parts) {
      Result<std::shared_ptr<TrainingRunner>> runner = TrainingRunner::create(
          *model, delegate, part, {.batch_size = batch_size, .threads = threads, .is_trained = asked.is_trained});
      if (runner) batch->parts.push_back({std::move(*runner), {}});
      else batch->parts.push_back({nullptr, "it was not compiled: " + runner.error().message()});
    }
    return batch;
  }
};

TrainingDelegation::TrainingDelegation(Delegate& delegate, const TrainingDelegationSettings& settings)
    : state_(new State{.delegate = delegate, .settings = settings}) {}
TrainingDelegation::~TrainingDelegation() = default;

Status TrainingDelegation::begin(const Model& model, const TrainOptions& options) {
  State& s = *state_;
  if (s.model) return Error(ErrorCode::invalid_argument, "training: a TrainingDelegation serves one trainer");
  if (!options.loss.heads.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "training: a delegate computes trainings of one loss, and this one has heads: leave one of both out");
  }
  COT_ASSIGN(s.traits, traits_of(s.delegate));
  s.asked = {.trains = true,
             .takes_whatever_cost = s.settings.takes_whatever_cost,
             .freezes_statistics = options.freeze_statistics,
             .own_reason = own_reason(options)};
  COT_ASSIGN(s.asked.is_trained, trainable_tensors(model.graph(), options));
  s.threads = options.threads;
  s.model = model;
  return {};
}

Result<const ExternalParts*> TrainingDelegation::parts_for(uint32_t batch_size) {
  State& s = *state_;
  auto found = std::ranges::find(s.batches, batch_size, [](const auto& batch) { return batch->batch_size; });
  if (found == s.batches.end()) {
    COT_ASSIGN(std::unique_ptr<BatchParts> made, s.made_for(batch_size));
    s.batches.push_back(std::move(made));
    found = s.batches.end() - 1;
  }
  BatchParts& batch = **found;
  batch.external = {};
  std::vector<const PlannedPart*> kept;
  for (size_t i = 0; i < batch.parts.size(); ++i) {
    const PlannedPart& part = batch.plan.parts[i];
    const std::shared_ptr<TrainingRunner>& runner = batch.parts[i].runner;
    if (!batch.parts[i].refusal.empty()) continue;
    kept.push_back(&part);
    batch.external.parts.push_back(
        {.ops = part.ops,
         .inputs = part.inputs,
         .outputs = part.outputs,
         .step = TrainingRunner::forward_step(runner),
         .parameters = part.parameters,
         .output_gradients = part.output_gradients,
         .gradients = part.gradients,
         .backward = part.gradients.empty() ? nullptr : TrainingRunner::backward_step(runner)});
  }
  if (kept.empty()) return nullptr;
  batch.external.order = order_around(s.model->graph(), kept);
  return &batch.external;
}

bool TrainingDelegation::has_given_up() {
  bool found = false;
  for (const auto& batch : state_->batches) {
    for (DelegatedPart& part : batch->parts) {
      if (!part.refusal.empty() || part.runner->refusal().empty()) continue;
      part.refusal = part.runner->refusal();
      found = true;
    }
  }
  return found;
}

std::vector<TrainingDelegation::Batch> TrainingDelegation::report() const {
  std::vector<Batch> all;
  for (const auto& batch : state_->batches) {
    DelegateReport report{state_->traits, {}, batch->plan.own, batch->plan.flops};
    for (size_t i = 0; i < batch->parts.size(); ++i) {
      DelegateReport::Part part{batch->plan.parts[i], batch->parts[i].refusal, {}, {}};
      if (const TrainingRunner* runner = batch->parts[i].runner.get()) {
        part.verified = runner->verified();
        part.gradients = runner->gradients();
        part.checks = runner->checks();
        if (part.refusal.empty()) part.unsettled = runner->unsettled();
        part.copies = runner->copies();
      }
      report.parts.push_back(std::move(part));
    }
    all.push_back({batch->batch_size, std::move(report)});
  }
  return all;
}

}  // namespace coterie
