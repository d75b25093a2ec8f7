#include "tools/simulate/cohort_trainer.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/os/clock.h"
#include "device_sdk/agent/device_width.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/late_update.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/plan_watch.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/messages/group_weights.h"
#include "scheduler/job/weight_share.h"
#include "tools/attack/drawn_liars.h"
#include "tools/attack/flipped_labels.h"
#include "tools/cli/interrupt.h"
#include "tools/demo/options.h"
#include "tools/demo/width_option.h"

namespace coterie {
namespace {

constexpr Millis kWatchEvery{20};

Status train_to_end(Trainer& trainer) {
  while (!trainer.finished()) {
    if (Interrupt::requested()) return interrupted_error();
    COT_TRY(trainer.step());
  }
  return {};
}

// Whether all devices that are asked begin alike, but for seed and examples.
bool begin_alike(const AskedWork& asked, const std::vector<float>& state) {
  return state.empty() && asked.control.empty() && asked.clusters.empty() && !asked.widths &&
         !asked.plan.training.personal && !asked.plan.training.watch;
}

// To the end, looked at as the plan asks.
Status train_watched(Trainer& trainer, PlanWatch& watch) {
  while (!trainer.finished()) {
    if (Interrupt::requested()) return interrupted_error();
    COT_TRY(watch.step(trainer));
  }
  return {};
}

}  // namespace

// The highest byte first, so that ids are in the order of numbers.
DeviceId virtual_device(uint32_t device) {
  DeviceId id;
  for (size_t i = 0; i < sizeof device; ++i) id.bytes[i] = static_cast<uint8_t>(device >> (24 - 8 * i));
  return id;
}

uint32_t virtual_group(uint32_t device, uint32_t groups) { return groups == 0 ? 0 : device % groups + 1; }

// What a thread keeps from device to device.
struct CohortTrainer::Worker {
  std::vector<std::optional<DatasetSource>> sources;  // opened once: reading is one thread's
  std::shared_ptr<const AskedWork> asked;             // whom `trainer` was made for; null: for nobody
  std::optional<Trainer> trainer;
};

CohortTrainer::CohortTrainer(std::vector<std::string> shard_files, uint64_t seed, uint32_t threads,
                             std::function<void(uint64_t)> watch, const Drill& drill, float held_out_share)
    : shard_files_(std::move(shard_files)),
      seed_(seed),
      watch_(std::move(watch)),
      drill_(drill),
      held_out_share_(held_out_share) {
  for (uint32_t i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->sources.resize(shard_files_.size());
  }
}

CohortTrainer::~CohortTrainer() = default;

Result<RoundTotals> CohortTrainer::train(const CohortWork& work, Accumulator& sum) {
  outcomes_.assign(work.size(), {});
  lies_ = liars_of(work);
  next_ = done_ = 0;
  is_stopped_ = false;
  {
    std::atomic<size_t> working{workers_.size()};
    std::vector<std::jthread> threads;
    for (const std::unique_ptr<Worker>& worker : workers_) {
      threads.emplace_back([this, &work, &worker, &sum, &working] {
        work_off(work, *worker, sum);
        --working;
      });
    }
    while (working > 0) {
      if (!Interrupt::wait(kWatchEvery)) is_stopped_ = true;
      watch_(done_);
    }
  }
  if (Interrupt::requested()) return interrupted_error();
  RoundTotals totals;
  states_.drop();
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    Outcome& outcome = outcomes_[i];
    if (outcome.error) return *outcome.error;
    totals += outcome.totals;
    if (!outcome.state.empty()) states_.stage(work[i].device, std::move(outcome.state));
  }
  if (drill_.attack.is_on()) COT_TRY(add_drilled(work, sum));
  return totals;
}

std::vector<RoundTotals> CohortTrainer::totals() const {
  std::vector<RoundTotals> totals;
  for (const Outcome& outcome : outcomes_) totals.push_back(outcome.totals);
  return totals;
}

uint64_t CohortTrainer::examples_median() const {
  std::vector<uint64_t> examples;
  for (const Outcome& outcome : outcomes_) examples.push_back(outcome.totals.examples);
  return lower_median(std::move(examples));
}

// Devices are begun in their order, and what is begun is ended: the first that fails is the same with any threads.
void CohortTrainer::work_off(const CohortWork& work, Worker& worker, Accumulator& sum) {
  while (!is_stopped_) {
    const size_t index = next_++;
    if (index >= work.size()) return;
    const uint32_t device = work[index].device;
    const Instant begin = os::monotonic_now();
    Outcome& outcome = outcomes_[index];
    const bool flips = lies_[index] && flips_labels(drill_.attack.kind);
    Result<TrainedUpdate> update = train_one(work[index], flips, worker, outcome.state);
    Status added = update ? Status() : Status(update.error());
    if (added && !drill_.attack.is_on()) {
      added = sum.add(update->delta, summed_weight(work[index].asked->plan.update, update->header.weight),
                      virtual_device(device));
    }
    if (added) {
      outcome.totals = {
          .updates = 1,
          .weight = update->header.weight,
          .examples = update->header.examples,
          .loss_sum = update->header.loss_sum,
          .correct = update->header.correct,
          .train_ms = static_cast<uint64_t>(std::chrono::duration_cast<Millis>(os::monotonic_now() - begin).count())};
      if (drill_.attack.is_on()) outcome.delta = std::move(update->delta);
    } else {
      outcome.error = added.error().with_context("device " + std::to_string(uint64_t{device} + 1));
      is_stopped_ = true;
    }
    ++done_;
  }
}

Result<TrainedUpdate> CohortTrainer::train_one(const VirtualTraining& asked_for, bool flips, Worker& worker,
                                               std::vector<float>& state) const {
  const AskedWork& work = *asked_for.asked;
  const uint32_t device = asked_for.device;
  const size_t shard = device % shard_files_.size();
  std::optional<DatasetSource>& source = worker.sources[shard];
  if (!source) {
    COT_ASSIGN(source, DatasetSource::open(shard_files_[shard]));
  }
  FlippedLabels flipped(*source);
  std::optional<ExamplePart> part;
  if (held_out_share_ > 0) part.emplace(*source, split_examples(source->size(), held_out_share_).trained);
  ExampleSource& trained_on = part ? static_cast<ExampleSource&>(*part) : *source;
  ExampleSource& examples = flips ? static_cast<ExampleSource&>(flipped) : trained_on;
  const uint64_t seed = repeated_seed(device_seed(seed_, device + 1), work.version);
  state = states_.of(device);
  const TrainingSettings& training = work.plan.training;
  GivenFacts given;
  if (GivenPass::is_asked_by(work.plan)) {
    COT_ASSIGN(given, given_facts(work.model, work.stacked ? &*work.stacked : nullptr, *work.layout, work.plan, seed,
                                  examples));
  }
  if (has_own_training(training)) {
    COT_ASSIGN(OwnTraining own, own_training(work.model, *work.layout, training, seed, state));
    COT_ASSIGN(Trainer first, Trainer::create(own.model, own.options, examples));
    COT_TRY(train_to_end(first));
    state = own_values(*work.layout, first);
  }
  const WidthWork* width = work.widths ? &work.widths->at(width_class_of(device, work.widths->size())) : nullptr;
  const UpdateLayout& layout = width ? *width->layout : *work.layout;
  std::unique_ptr<PlanWatch> watch;
  const bool is_alike = begin_alike(work, state);
  if (!is_alike || worker.asked != asked_for.asked || !worker.trainer->restart(examples, seed)) {
    COT_ASSIGN(Model start, model_of_update(work.model, *work.layout, training, state));
    if (!work.clusters.empty()) {
      start = work.clusters.at(given.cluster);
      state = {static_cast<float>(given.cluster)};
    }
    if (width) start = width->model;
    worker.asked.reset();
    worker.trainer.reset();  // before the next one is there: at most one takes memory
    const TrainOptions options = layout.options(training, seed, state, work.control);
    COT_ASSIGN(worker.trainer, Trainer::create(start, options, examples));
    if (training.watch) {
      COT_ASSIGN(watch, PlanWatch::create(start, work.plan, options, examples.size(), worker.trainer->summary()));
    }
    if (is_alike) worker.asked = asked_for.asked;
  }
  Trainer& trainer = *worker.trainer;
  std::vector<float> watched;
  if (watch) {
    COT_TRY(train_watched(trainer, *watch));
    watched = watch->lanes();
  } else {
    COT_TRY(train_to_end(trainer));
  }
  COT_ASSIGN(TrainedUpdate update, make_update(layout, trainer, examples.size(), training, work.plan.update,
                                               {work.digest, seed, work.control, state, &given,
                                                virtual_group(device, group_count(work.plan.update)), watched}));
  if (training.personal) {
    state = next_own(*work.layout, training, trainer, std::move(state));
  } else if (keeps_state(work.plan)) {
    state = state_after(work.plan, *work.layout, state, update);
  }
  COT_TRY(put_what_is_added(work.plan.update, update));
  if (asked_for.weight != 1) weigh_late(update.delta, asked_for.weight);
  return update;
}

// The draw is of the seed and the round's version alone: threads change nothing of it.
std::vector<bool> CohortTrainer::liars_of(const CohortWork& work) const {
  if (drill_.attack.is_drawn && !work.empty()) {
    const uint64_t seed = repeated_seed(device_seed(seed_, 0), work[0].asked->version);
    return drawn_liars(drill_.attack, static_cast<uint32_t>(work.size()), seed);
  }
  std::vector<bool> lies;
  for (const VirtualTraining& each : work) lies.push_back(each.device < drill_.attack.liars_of(drill_.devices));
  return lies;
}

// What liars send keeps within the plan's limits: beyond them a server would refuse it.
Status CohortTrainer::add_drilled(const CohortWork& work, Accumulator& sum) {
  HonestMoments honest;
  std::vector<std::span<const float>> deltas;
  for (size_t i = 0; i < work.size(); ++i) {
    if (!lies_[i]) deltas.emplace_back(outcomes_[i].delta);
  }
  const AttackKind kind = drill_.attack.kind;
  if (needs_others(kind) && !deltas.empty()) honest = moments_of(deltas);
  for (size_t i = 0; i < work.size(); ++i) {
    const uint32_t device = work[i].device;
    Outcome& outcome = outcomes_[i];
    if (lies_[i] && (!needs_others(kind) || !deltas.empty())) {
      const uint64_t seed = repeated_seed(device_seed(seed_, device + 1), work[i].asked->version);
      forge(kind, honest, work.size(), seed, outcome.delta);
      COT_TRY(limit_update(outcome.delta, work[i].asked->plan.update, {}));
    }
    COT_TRY(sum.add(outcome.delta, static_cast<uint32_t>(outcome.totals.weight), virtual_device(device)));
  }
  return {};
}

}  // namespace coterie
