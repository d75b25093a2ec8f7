#include "tools/watch/replay.h"

#include <cmath>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

class OneExample final : public ExampleSource {
 public:
  OneExample(ExampleSource& source, uint64_t index) : source_(source), index_(index) {}
  uint64_t size() const override { return 1; }
  Status read(uint64_t, const Example& to) override { return source_.read(index_, to); }

 private:
  ExampleSource& source_;
  uint64_t index_;
};

// The first example whose own loss is not finite, with the parameters as they are.
Result<std::optional<uint64_t>> example_of_loss(const Model& model, const TrainOptions& options,
                                                ExampleSource& examples, const Trainer& trainer,
                                                const std::vector<uint32_t>& batch) {
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, options.loss, 1, options.arena_bytes_max));
  for (const uint32_t index : batch) {
    OneExample one(examples, index);
    COT_ASSIGN(const Evaluation evaluation, evaluator.run(trainer.parameters(), one));
    if (!std::isfinite(evaluation.loss_mean)) return std::optional<uint64_t>(index);
  }
  return std::optional<uint64_t>();
}

// A trainer that holds examples out counts those that it trains on.
void number_in_whole(const ExampleSplit& split, NonFinite& found) {
  for (uint32_t& example : found.examples) example = split.trained[example];
  if (found.example) found.example = split.trained[*found.example];
}

}  // namespace

Result<Replay> replay_to_non_finite(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                    Trainer& trainer, const std::function<bool()>& is_stopped) {
  FirstNonFinite finder(model);
  Replay replay{.first_step = trainer.summary().steps};
  while (!trainer.finished()) {
    if (is_stopped()) return Error(ErrorCode::cancelled, "interrupted");
    const TrainingSummary before = trainer.summary();
    const Status stepped = trainer.step(&finder);
    if (!stepped && !finder.found()) return stepped.error();
    // A step that only looks at held-out examples counts nowhere; the one that fails does not count itself.
    if (!stepped || trainer.summary().steps > before.steps) replay.steps += 1;
    if (trainer.summary().skipped > before.skipped) {
      replay.skipped += 1;
      finder.forget();
    }
    if (finder.found()) break;
  }
  replay.found = finder.found();
  if (replay.found && trainer.validation().examples > 0) {
    number_in_whole(split_examples(examples.size(), options.early_stopping->validation_share), *replay.found);
  }
  const bool lacks_example = replay.found && replay.found->op == "loss" && !replay.found->example;
  if (!lacks_example || !options.augment.empty()) return replay;
  COT_ASSIGN(replay.found->example, example_of_loss(model, options, examples, trainer, replay.found->examples));
  replay.found->is_example_exact = replay.found->example.has_value();
  return replay;
}

}  // namespace coterie
