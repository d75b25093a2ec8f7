#include "device_sdk/runtime/fine_tune.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {

bool is_better(const Evaluation& after, const Evaluation& before) {
  if (!std::isfinite(after.loss_mean)) return false;
  if (after.accuracy != before.accuracy) return after.accuracy > before.accuracy;
  return !(after.loss_mean >= before.loss_mean);
}

Result<FineTuned> fine_tune(const Model& model, const TrainOptions& options, float held_out_share,
                            ExampleSource& examples, const std::function<Status()>& between) {
  if (!(held_out_share > 0 && held_out_share <= kValidationShareMax)) {
    return Error(ErrorCode::invalid_argument, "fine-tuning: the held-out share must be in (0, 0.5]");
  }
  ExampleSplit split = split_examples(examples.size(), held_out_share);
  if (split.held_out.empty()) {
    return Error(ErrorCode::invalid_argument,
                 concat({"fine-tuning: of ", examples.size(),
                         " examples that share holds out none, and nothing could be judged"}));
  }
  ExamplePart own(examples, std::move(split.trained)), held_out(examples, std::move(split.held_out));
  COT_ASSIGN(std::optional<AugmentedSource> images, judged(held_out, model, options.loss, options.augment));
  ExampleSource& judges = images ? static_cast<ExampleSource&>(*images) : held_out;
  const auto batch = static_cast<uint32_t>(std::clamp<uint64_t>(held_out.size(), 1, options.batch_size));
  COT_ASSIGN(Evaluator evaluator,
             Evaluator::create(model, options.loss, batch, options.arena_bytes_max, options.threads));
  COT_ASSIGN(const Evaluation before, evaluator.run(model.parameters(), judges));
  COT_ASSIGN(Trainer trainer, Trainer::create(model, options, own));
  while (!trainer.finished()) {
    if (between) COT_TRY(between());
    COT_TRY(trainer.step());
  }
  COT_ASSIGN(const Evaluation after, evaluator.run(trainer.parameters(), judges));
  const bool keeps = is_better(after, before);
  COT_ASSIGN(Model result, keeps ? Model::load(model.file_with(trainer.parameters())) : Result<Model>(model));
  return FineTuned{std::move(result), keeps, before, after};
}

}  // namespace coterie
