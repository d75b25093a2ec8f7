// coterie_model_evaluate.
#include "device_sdk/c_api/evaluation.h"

#include <algorithm>
#include <optional>

#include "device_sdk/c_api/host_callbacks.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/structs.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/int8/int8_outputs.h"

namespace coterie {

Result<Evaluation> evaluate(const coterie_model& handle, const coterie_dataset* dataset, const TrainOptions& options,
                            const OutputSink& sink, std::vector<HeadResult>* heads) {
  COT_TRY(check_loss_heads(options.loss));
  if (!options.loss.heads.empty()) COT_TRY(float_model(handle));
  COT_ASSIGN(HostDataset examples, HostDataset::make(dataset));
  const auto batch_size = static_cast<uint32_t>(std::clamp<uint64_t>(examples.size(), 1, options.batch_size));
  std::optional<Model> passing;
  if (handle.int8) {
    COT_ASSIGN(passing, passing_model(handle.int8->program->output_shape));
  }
  const Model& measured = passing ? *passing : handle.model;
  COT_ASSIGN(Evaluator evaluator,
             Evaluator::create(measured, options.loss, batch_size, options.arena_bytes_max, options.threads));
  COT_ASSIGN(std::optional<AugmentedSource> images, judged(examples, handle.model, options.loss, options.augment));
  ExampleSource* read = images ? static_cast<ExampleSource*>(&*images) : &examples;
  std::optional<Int8Outputs> outputs;
  if (handle.int8) read = &outputs.emplace(*handle.int8->program, *read);
  COT_ASSIGN(const Evaluation evaluation, evaluator.run(measured.parameters(), *read, sink));
  if (heads != nullptr) *heads = evaluator.heads();
  return evaluation;
}

void fill(coterie_evaluation& evaluation, const Evaluation& known) {
  coterie_evaluation filled{};
  filled.examples = known.examples;
  filled.loss_mean = known.loss_mean;
  filled.accuracy = known.accuracy;
  fill_known_part(evaluation, filled);
}

}  // namespace coterie

extern "C" coterie_status coterie_model_evaluate(coterie_model* model, const coterie_dataset* dataset,
                                                 const coterie_train_options* options, coterie_evaluation* evaluation) {
  using namespace coterie;
  return with(model, [&]() -> Status {
    if (evaluation == nullptr) return null_argument("evaluation");
    COT_TRY(check_size(*evaluation, "evaluation"));
    COT_ASSIGN(const KnownOptions known, train_options_of(options));
    COT_ASSIGN(const Evaluation result, evaluate(*model, dataset, known.training, nullptr));
    fill(*evaluation, result);
    return {};
  });
}
