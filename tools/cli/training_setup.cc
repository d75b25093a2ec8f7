#include "tools/cli/training_setup.h"

#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/memory_budget.h"
#include "secure/identity/key_file.h"
#include "tools/cli/local_files.h"
#include "tools/model/default_learning_rate.h"
#include "tools/model/measure.h"

namespace coterie {

Result<Model> body_of(const TrainCommand& command) {
  COT_ASSIGN(Model model, open_model(command.model));
  if (!command.head) return model;
  COT_ASSIGN(Bytes file, replace_head(model, *command.head));
  return Model::load(std::move(file));
}

Result<Model> with_companions(const TrainCommand& command, const Model& body) {
  if (!command.lora) return body;
  if (command.training.qat) {
    return Error(ErrorCode::invalid_argument,
                 "--qat does not go with --lora: what companions are merged into is rounded when they are");
  }
  COT_ASSIGN(Bytes file, add_lora(body, *command.lora, command.training.seed));
  return Model::load(std::move(file));
}

Result<TrainOptions> options_for(const TrainCommand& command, const Model& model, const LocalData& data) {
  TrainOptions options = command.training;
  const LossSettings loss = loss_for(data.examples.header(), command.loss);
  options.loss.kind = loss.kind;
  options.loss.target = loss.target;
  options.loss.ignore_label = data.ignore_label;
  if (!options.loss.heads.empty()) options.loss.kind = options.loss.heads[0].loss;
  options.optimizer.learning_rate = command.learning_rate.value_or(default_learning_rate(options.optimizer.kind));
  if (!command.checkpoint_key.empty()) {
    COT_ASSIGN(CipherKey key, load_cipher_key(command.checkpoint_key));
    options.checkpoint_cipher = make_xchacha20_poly1305(std::move(key));
  }
  if (options.early_stopping && held_out_count(data.examples.size(), options.early_stopping->validation_share) == 0) {
    return Error(ErrorCode::invalid_argument, "--validation-share holds out none of " +
                                                  std::to_string(data.examples.size()) +
                                                  " examples; take a larger one");
  }
  if (command.memory_budget == 0) return options;
  COT_ASSIGN(const MemoryFit fit, fit_training_within(model, options, data.examples.size(), command.memory_budget));
  options.micro_batch_size = fit.micro_batch_size;
  options.planned_bytes_max = fit.planned_bytes_max;
  return options;
}

}  // namespace coterie
