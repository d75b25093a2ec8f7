// A device's training of a round: from the model it was given to the update that it sends.
#include "base/os/clock.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/device_width.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/model_download.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/plan_watch.h"
#include "device_sdk/agent/told_scalars.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/lora.h"
#include "proto/codec/codec.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"

namespace coterie {

Result<Agent::GivenModel> Agent::load_given(const DoTrain& action) const {
  const Digest& named = action.assignment.model;
  COT_ASSIGN(const Model given, load_downloaded(model_path(action.plan.job, action.plan.download, named), named));
  COT_ASSIGN(Model model, model_to_train(given, action.plan.training));
  COT_ASSIGN(UpdateLayout layout, UpdateLayout::of(model, given.value_count(), action.plan));
  COT_TRY(check_clusters(given, action.plan.training));
  std::optional<Model> clusters;
  if (cluster_count(action.plan.training) > 1) clusters = given;
  if (!action.plan.training.widths.empty()) {
    COT_ASSIGN(WidthWork work, widest_work(model, layout, action.plan.training, settings_.widths, examples_.size()));
    return GivenModel{std::move(work.model), std::move(work.layout)};
  }
  return GivenModel{std::move(model), std::make_shared<const UpdateLayout>(std::move(layout)), std::move(clusters)};
}

Result<Agent::Training> Agent::begin_training(const DoTrain& action) {
  COT_ASSIGN(const GivenModel given, load_given(action));
  const Model& model = given.model;
  const UpdateLayout& layout = *given.layout;
  const RoundKey& round = action.assignment.round;
  COT_ASSIGN(const uint64_t seed, seed_of(action.assignment));
  const TrainingSettings& settings = action.plan.training;
  COT_ASSIGN(std::vector<float> state, kept_state(action, layout.state_count()));
  bool is_own = false;
  COT_ASSIGN(std::vector<float> own, own_before(action, layout, state, is_own));
  std::vector<float> control;
  if (const std::optional<Digest>& named = action.plan.control) {
    COT_ASSIGN(control, read_control(control_path(*named), *named, handed_value_count(action.plan.update)));
  }
  COT_TRY(check_device(action.plan.update, {settings_.group, control}));
  std::optional<OwnTraining> first;
  if (is_own) {
    COT_ASSIGN(first, own_training(model, layout, settings, seed, own));
  }
  TrainOptions options = first ? first->options : layout.options(settings, seed, state, control);
  COT_ASSIGN(options.checkpoint_cipher, vault_.cipher());  // trained weights less the given ones are the update
  COT_ASSIGN(Model start, first ? Result<Model>(first->model) : model_of_update(model, layout, settings, own));
  if (given.clusters) {
    COT_ASSIGN(start, cluster_model(*given.clusters, given_.facts->cluster));
    own = {static_cast<float>(given_.facts->cluster)};
  }
  COT_ASSIGN(Trainer trainer, Trainer::create(start, options, examples_));
  const std::string checkpoint = training_path(round, is_own ? "own.ckpt" : "ckpt");
  if (os::exists(checkpoint) && !trainer.restore_checkpoint(checkpoint)) {
    COT_TRY(os::remove_file(checkpoint));  // damaged, in the clear, or the data changed: begin anew
  }
  const uint64_t done = trainer.summary().steps;
  std::shared_ptr<PlanWatch> watch;
  if (settings.watch && !is_own) {
    COT_ASSIGN(watch, PlanWatch::create(start, action.plan, options, examples_.size(), trainer.summary()));
  }
  return Training{given.layout, std::move(trainer), seed,   std::move(state), std::move(control),
                  done,         given_.spent,       is_own, std::move(own),   std::move(watch)};
}

Result<uint64_t> Agent::seed_of(const Assignment& assignment) const {
  if (settings_.seed != 0) return repeated_seed(settings_.seed, assignment.model_version);
  return training_seed(training_path(assignment.round, "seed"));
}

// A slice of training; an event when it has ended, well or not.
Result<std::optional<ParticipantEvent>> Agent::train(const DoTrain& action) {
  if (action.plan.analytics) return count(action);
  const auto ended = [](Status outcome) { return std::optional<ParticipantEvent>(TrainingEnded{std::move(outcome)}); };
  if (GivenPass::is_asked_by(action.plan) && !training_ && !given_.facts) {
    COT_ASSIGN(auto event, look_at_given(action));
    // A device that is ended after each step comes on all the same.
    if (event || !given_.facts) return event;
  }
  if (!training_) {
    Result<Training> begun = begin_training(action);
    if (!begun) return ended(begun.error());
    training_ = std::move(*begun);
  }
  Trainer& trainer = training_->trainer;
  const std::string checkpoint = training_path(action.assignment.round, training_->is_own ? "own.ckpt" : "ckpt");
  const bool may_be_late = action.plan.staleness.has_later_rounds();
  // By the server's clock, as its ticket's end was written by it. A round that takes late updates has no such end.
  if (!trainer.finished() && !may_be_late && api_.server_now() > action.assignment.not_after) {
    return ended(Error(ErrorCode::ticket_expired, "the round was over before the training was"));
  }
  const Instant begin = os::monotonic_now();
  uint64_t step_us = 0;  // the longest so far
  while (!trainer.finished() && os::monotonic_now() - begin < settings_.train_slice && may_train_on(2 * step_us)) {
    const uint64_t before_us = charge_ != nullptr ? charge_->used_us() : 0;
    const Status stepped = training_->watch ? training_->watch->step(trainer) : trainer.step();
    if (!stepped) return ended(stepped);
    if (charge_ != nullptr) step_us = std::max(step_us, charge_->used_us() - before_us);
    const uint64_t steps = trainer.summary().steps;
    const bool due = settings_.checkpoint_steps > 0 && steps - training_->checkpointed >= settings_.checkpoint_steps;
    if (due && !trainer.finished()) {
      COT_TRY(trainer.save_checkpoint(checkpoint));
      training_->checkpointed = steps;
    }
  }
  training_->spent += os::monotonic_now() - begin;
  // What holds the device back may last longer than the process.
  const bool has_more = settings_.checkpoint_steps > 0 && trainer.summary().steps > training_->checkpointed;
  if (!trainer.finished() && has_more && !check_conditions(machine_.required(), conditions())) {
    COT_TRY(trainer.save_checkpoint(checkpoint));
    training_->checkpointed = trainer.summary().steps;
  }
  if (!trainer.finished()) return std::optional<ParticipantEvent>();
  if (training_->is_own) {
    COT_TRY(store_own(action));  // if there is no room now, then perhaps later
    Result<Training> next = begin_training(action);
    if (!next) return ended(next.error());
    next->spent = training_->spent;
    training_ = std::move(*next);
    return std::optional<ParticipantEvent>();
  }
  const std::vector<float> watched = training_->watch ? training_->watch->lanes() : std::vector<float>();
  Result<TrainedUpdate> update =
      make_update(*training_->layout, trainer, examples_.size(), action.plan.training, action.plan.update,
                  {action.assignment.model, training_->seed, training_->control, training_->state, given_.facts.get(),
                   settings_.group, watched});
  if (!update) return ended(update.error());
  update->header.round = action.assignment.round;
  update->header.model = action.assignment.model;
  update->header.train_ms = static_cast<uint32_t>(training_->spent.count());
  // If there is no room now, then perhaps later. An update that a power loss takes away is trained again.
  COT_ASSIGN(std::optional<Digest> state, store_state(action, *update));
  // The state first, then the update, then the event that names both: a crash in between leaves files that nobody
  // names, and training that is done again from its checkpoint and its seed.
  COT_TRY(vault_.write_file(kUpdateFile, encode_update(*update)));
  return std::optional<ParticipantEvent>(TrainingEnded{{}, state});
}

}  // namespace coterie
