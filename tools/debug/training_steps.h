// TrainingSteps: a training that runs step by step, each step recorded, forth and back.
//
// It computes what a training without it computes, to the same bits. Going back restores a checkpoint of its own and
// runs on from there: the first step's, and then one for each kDebugCheckpointSteps steps. Where there are too many of
// them each second goes, and their distance doubles.
#pragma once

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/train_options.h"
#include "tools/debug/scratch_folder.h"
#include "tools/debug/step_recorder.h"
#include "tools/debug/step_source.h"

namespace coterie {

inline constexpr uint64_t kDebugCheckpointSteps = 64;
inline constexpr size_t kDebugCheckpointsMax = 16;

class TrainingSteps final : public StepSource {
 public:
  // Begins where `from` is, a file that Trainer::save_checkpoint wrote; at the beginning where it is empty. `model` and
  // `examples` outlive it. Errors: those of Trainer::create and restore_checkpoint, and of writing its own checkpoints.
  static Result<std::unique_ptr<TrainingSteps>> create(const Model& model, TrainOptions options,
                                                       ExampleSource& examples, const std::string& from);

  const Trainer& trainer() const { return trainer_; }

  // --- StepSource
  const Model& model() const override { return model_; }
  const std::vector<bool>& is_trained() const override { return is_trained_; }
  uint64_t steps_an_epoch() const override { return steps_an_epoch_; }
  std::string description() const override;
  const StepRecord* now() const override { return now_ ? &*now_ : nullptr; }
  const StepRecord* before() const override { return before_ ? &*before_ : nullptr; }
  std::optional<uint64_t> next() const override;
  Status forward() override;
  Status back(uint64_t steps, const std::function<bool()>& is_stopped) override;
  Status visit_records(const std::function<bool(const StepRecord&)>& visit) override;

 private:
  struct Kept {
    uint64_t step = 0;
    std::string path;
  };

  TrainingSteps(const Model& model, Trainer trainer, std::vector<bool> is_trained, uint64_t steps_an_epoch,
                ScratchFolder folder);
  Status keep_checkpoint();
  Status run_to(uint64_t step, const std::function<bool()>& is_stopped);

  const Model& model_;
  Trainer trainer_;
  std::vector<bool> is_trained_;
  uint64_t steps_an_epoch_;
  ScratchFolder folder_;
  StepRecorder recorder_;
  std::vector<Kept> kept_;  // in the order of their steps
  uint64_t distance_ = kDebugCheckpointSteps;
  std::optional<StepRecord> now_, before_;
};

}  // namespace coterie
