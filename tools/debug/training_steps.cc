#include "tools/debug/training_steps.h"

#include <utility>

#include "base/os/file.h"
#include "tools/cli/table.h"

namespace coterie {

Result<std::unique_ptr<TrainingSteps>> TrainingSteps::create(const Model& model, TrainOptions options,
                                                             ExampleSource& examples, const std::string& from) {
  options.joins_steps = false;
  COT_ASSIGN(std::vector<bool> is_trained, trainable_tensors(model.graph(), options));
  COT_ASSIGN(Trainer trainer, Trainer::create(model, options, examples));
  if (!from.empty()) {
    const Status restored = trainer.restore_checkpoint(from);
    if (!restored) return restored.error().with_context(from);
  }
  COT_ASSIGN(ScratchFolder folder, ScratchFolder::create("debug"));
  const uint64_t trained_on = examples.size() - trainer.validation().examples;
  const uint64_t steps_an_epoch = (trained_on + options.batch_size - 1) / options.batch_size;
  std::unique_ptr<TrainingSteps> steps(
      new TrainingSteps(model, std::move(trainer), std::move(is_trained), steps_an_epoch, std::move(folder)));
  COT_TRY(steps->keep_checkpoint());
  return steps;
}

TrainingSteps::TrainingSteps(const Model& model, Trainer trainer, std::vector<bool> is_trained, uint64_t steps_an_epoch,
                             ScratchFolder folder)
    : model_(model),
      trainer_(std::move(trainer)),
      is_trained_(std::move(is_trained)),
      steps_an_epoch_(steps_an_epoch),
      folder_(std::move(folder)),
      recorder_(model, is_trained_) {}

std::string TrainingSteps::description() const {
  const uint64_t done = trainer_.summary().steps;
  return "a training of " + counted(trainer_.steps_in_all(), "step") +
         (done == 0 ? "" : ", of which " + format_count(done) + " are done");
}

std::optional<uint64_t> TrainingSteps::next() const {
  if (trainer_.finished() || trainer_.summary().steps == trainer_.steps_in_all()) return std::nullopt;
  return trainer_.summary().steps;
}

Status TrainingSteps::keep_checkpoint() {
  const uint64_t step = trainer_.summary().steps;
  if (kept_.size() == kDebugCheckpointsMax) {
    for (size_t left = kept_.size(); left >= 2; left -= 2) {  // each second one goes, the first stays
      static_cast<void>(os::remove_file(kept_[left - 1].path));
      kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(left - 1));
    }
    distance_ *= 2;
  }
  Kept kept{step, folder_.path() + "/step-" + std::to_string(step)};
  COT_TRY(trainer_.save_checkpoint(kept.path));
  kept_.push_back(std::move(kept));
  return {};
}

Status TrainingSteps::forward() {
  // One that cannot be written makes going back longer, and nothing else.
  if (trainer_.summary().steps >= kept_.back().step + distance_) static_cast<void>(keep_checkpoint());
  std::optional<StepRecord> record;
  while (!record) {  // in between it looks at held-out examples
    if (trainer_.finished()) return Error(ErrorCode::conflict, "the training is finished");
    COT_ASSIGN(record, recorder_.step(trainer_));
  }
  if (!now_ || now_->step + 1 == record->step) before_ = std::exchange(now_, std::nullopt);
  now_ = std::move(record);
  return {};
}

// In front of `step`, from the last checkpoint that is not behind it.
Status TrainingSteps::run_to(uint64_t step, const std::function<bool()>& is_stopped) {
  now_.reset();
  before_.reset();
  size_t last = kept_.size();
  while (last > 1 && kept_[last - 1].step > step) --last;
  COT_TRY(trainer_.restore_checkpoint(kept_[last - 1].path));
  while (trainer_.summary().steps < step) {
    if (is_stopped()) {
      COT_TRY(trainer_.restore_checkpoint(kept_.front().path));
      return Error(ErrorCode::cancelled, "interrupted");
    }
    COT_TRY(trainer_.step());
  }
  return {};
}

Status TrainingSteps::back(uint64_t steps, const std::function<bool()>& is_stopped) {
  const uint64_t first = kept_.front().step;
  const uint64_t here = now_ ? now_->step : first;
  if (!now_ || steps > here || here - steps < first) return run_to(first, is_stopped);
  const uint64_t target = here - steps;
  COT_TRY(run_to(target > first ? target - 1 : target, is_stopped));
  while (trainer_.summary().steps <= target) COT_TRY(forward());
  return {};
}

Status TrainingSteps::visit_records(const std::function<bool(const StepRecord&)>& visit) {
  if (before_ && !visit(*before_)) return {};
  if (now_) visit(*now_);
  return {};
}

}  // namespace coterie
