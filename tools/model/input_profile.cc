#include "tools/model/input_profile.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/step.h"
#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/runtime/step_tracer.h"
#include "device_sdk/runtime/trainer.h"
#include "tools/data/stage_log.h"
#include "tools/model/training_trace.h"

namespace coterie {
namespace {

// Another source's examples, each read a call of a stage.
class TimedSource final : public ExampleSource {
 public:
  TimedSource(ExampleSource& base, StageLog& log, DataStage stage, uint64_t example_bytes)
      : base_(base), log_(log), stage_(stage), example_bytes_(example_bytes) {}

  uint64_t size() const override { return base_.size(); }
  void set_epoch(uint64_t epoch) override { base_.set_epoch(epoch); }
  std::optional<Digest> digest() const override { return base_.digest(); }
  const Shape* first_input_shape() const override { return base_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    return timed(&log_, stage_, example_bytes_, [&] { return base_.read(index, to); });
  }

 private:
  ExampleSource& base_;
  StageLog& log_;
  const DataStage stage_;
  const uint64_t example_bytes_;
};

// One step of training: a call of `batch` until its examples are there, then one of `step`.
class TimedRunner final : public StepRunner {
 public:
  // `tracer` may be null.
  TimedRunner(StageLog& log, StepTracer* tracer) : log_(log), tracer_(tracer) {}

  Status step(Trainer& trainer) {
    stage_.emplace(&log_, DataStage::batch);
    const Status done = trainer.step(this);
    stage_.reset();
    return done;
  }

  // The steps that were run are forgotten.
  void begin_measuring() {
    log_.clear();
    is_measuring_ = true;
  }

  void begin(const BatchMoment&) override {
    stage_.reset();
    stage_.emplace(&log_, DataStage::step);
  }

  void run(const Program& program, const Arena&, Phase phase, const StepContext& context) override {
    if (tracer_ == nullptr || !is_measuring_) return program.run(phase, context);
    if (phase == Phase::forward) tracer_->begin_step(program, context.pool);
    tracer_->run(program, phase, context);
  }

  void scaled(std::span<const float>) override {}

 private:
  StageLog& log_;
  StepTracer* const tracer_;
  std::optional<StageCall> stage_;
  bool is_measuring_ = false;
};

// Whole batches alone: each step is then of one and the same program.
std::vector<uint32_t> in_whole_batches(uint64_t examples, uint64_t batch_size) {
  std::vector<uint32_t> numbers(examples / batch_size * batch_size);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

}  // namespace

Result<ProfiledInput> profile_input(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                    uint64_t example_bytes, uint32_t steps, StageLog& log, StepTracer* tracer) {
  const uint64_t batch_size = std::clamp<uint64_t>(examples.size(), 1, options.batch_size);
  TimedSource copied(examples, log, DataStage::copy, example_bytes);
  ExamplePart part(copied, in_whole_batches(examples.size(), batch_size));
  // The Trainer would augment by itself, out of sight.
  COT_ASSIGN(const Augmentation augmentation, augmentation_for(model, options.loss, options.augment));
  COT_ASSIGN(std::optional<AugmentedSource> images, augmented(part, model, augmentation, options.seed));
  std::optional<TimedSource> transformed;
  if (images) transformed.emplace(*images, log, DataStage::transform, elements(images->image_shape()) * sizeof(float));
  TrainOptions whole = options;
  whole.augment.clear();
  whole.loss = loss_with(augmentation, options.loss);
  whole.batch_size = static_cast<uint32_t>(batch_size);
  whole.micro_batch_size = 0;
  whole.early_stopping.reset();
  whole.steps_max = 0;
  ExampleSource& read = transformed ? static_cast<ExampleSource&>(*transformed) : part;
  const uint64_t steps_an_epoch = std::max<uint64_t>(1, read.size() / batch_size);
  whole.epochs = static_cast<uint32_t>(steps / steps_an_epoch + 1);
  COT_ASSIGN(Trainer trainer, Trainer::create(model, whole, read));
  TimedRunner runner(log, tracer);
  COT_TRY(runner.step(trainer));
  runner.begin_measuring();
  for (uint32_t step = 0; step < steps; ++step) COT_TRY(runner.step(trainer));
  return ProfiledInput{
      .batch_size = whole.batch_size, .steps_an_epoch = steps_an_epoch, .fixed_bytes = fixed_bytes(trainer.memory())};
}

}  // namespace coterie
