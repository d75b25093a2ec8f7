// coterie_trainer_*: training without a server.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/train_options.h"
#include "device_sdk/c_api/trainer_handle.h"
#include "device_sdk/runtime/memory_budget.h"

using namespace coterie;

Status coterie_trainer::step() {
  const TrainingSummary before = trainer->summary();
  if (const Status stepped = trainer->step(watch.get()); !stepped) {
    // What went wrong is looked at: a step that failed changed nothing, and fails again.
    if (watch && watch->look_again()) static_cast<void>(trainer->step(watch.get()));
    return stepped;
  }
  if (watch) watch->end_step(*trainer);
  const TrainingSummary after = trainer->summary();
  step_loss = (after.loss_sum - before.loss_sum) / static_cast<double>(after.examples - before.examples);
  return {};
}

std::span<const float> coterie_trainer::parameters() {
  if (!adapted) return trainer->parameters();
  merged = merge_lora(model, *lora, *adapted, trainer->parameters());
  return merged;
}

coterie_train_progress coterie_trainer::progress() const {
  const TrainingSummary summary = trainer->summary();
  coterie_train_progress filled{};
  filled.struct_size = sizeof filled;
  filled.finished = trainer->finished() ? 1 : 0;
  filled.steps = summary.steps;
  filled.steps_in_all = trainer->steps_in_all();
  filled.examples = summary.examples;
  filled.step_loss = step_loss;
  if (summary.examples > 0) filled.loss_mean = summary.loss_sum / static_cast<double>(summary.examples);
  if (summary.rows > 0) filled.accuracy = static_cast<double>(summary.correct) / static_cast<double>(summary.rows);
  filled.learning_rate = trainer->learning_rate();
  return filled;
}

namespace {

// The model with its companions, if there are any.
Result<std::optional<Model>> adapted(const Model& model, const KnownOptions& options) {
  if (!options.lora) return std::optional<Model>();
  COT_ASSIGN(Bytes file, add_lora(model, *options.lora, options.training.seed));
  COT_ASSIGN(Model with_companions, Model::load(std::move(file)));
  return std::optional(std::move(with_companions));
}

// As the options are, but fitted to their memory budget.
Result<TrainOptions> fitted(const Model& model, const KnownOptions& options, uint64_t examples) {
  TrainOptions training = options.training;
  if (options.memory_budget_bytes == 0) return training;
  COT_ASSIGN(const MemoryFit fit, fit_training_within(model, training, examples, options.memory_budget_bytes));
  training.micro_batch_size = fit.micro_batch_size;
  training.planned_bytes_max = fit.planned_bytes_max;
  return training;
}

Result<std::unique_ptr<coterie_trainer>> open_trainer(const coterie_model* model, const coterie_train_options* given,
                                                      const coterie_dataset* dataset) {
  if (model == nullptr) return null_argument("model");
  COT_ASSIGN(const Model* begun, float_model(*model));
  COT_ASSIGN(const KnownOptions options, train_options_of(given));
  COT_ASSIGN(HostDataset examples, HostDataset::make(dataset));
  auto opened = std::make_unique<coterie_trainer>(*begun, std::move(examples));
  opened->lora = options.lora;
  COT_ASSIGN(opened->adapted, adapted(*begun, options));
  opened->memory_budget_bytes = options.memory_budget_bytes;
  COT_ASSIGN(opened->options, fitted(opened->trained(), options, opened->dataset.size()));
  COT_ASSIGN(opened->trainer, Trainer::create(opened->trained(), opened->options, opened->dataset));
  return opened;
}

Status check_memory(const coterie_train_memory* memory) {
  if (memory == nullptr) return null_argument("memory");
  return check_size(*memory, "memory");
}

void fill(coterie_train_memory& memory, const TrainingMemory& known) {
  coterie_train_memory filled{};
  filled.arena_bytes = known.arena_bytes;
  filled.parameter_bytes = known.parameter_bytes;
  filled.optimizer_bytes = known.optimizer_bytes;
  filled.gradient_bytes = known.gradient_bytes;
  filled.planned_bytes = known.planned_bytes;
  filled.order_bytes = known.order_bytes;
  filled.prepared_bytes = known.prepared_bytes;
  filled.micro_batch_size = known.micro_batch_size;
  filled.recomputed_steps = known.recomputed_steps;
  filled.recomputed_share = known.recomputed_share;
  filled.narrowed_bytes_saved = known.narrowed_bytes_saved;
  filled.narrowed_tensors = known.narrowed_tensors;
  fill_known_part(memory, filled);
}

Status check_path(const char* path) {
  if (path == nullptr || *path == 0) return Error(ErrorCode::invalid_argument, "path is missing");
  return {};
}

}  // namespace

extern "C" {

coterie_status coterie_trainer_open(const coterie_model* model, const coterie_train_options* options,
                                    const coterie_dataset* dataset, coterie_trainer** trainer, char* error_text,
                                    size_t error_text_size) {
  return open_handle(
      trainer, "trainer", [&] { return open_trainer(model, options, dataset); }, error_text, error_text_size);
}

void coterie_trainer_close(coterie_trainer** trainer) { close_handle(trainer); }

const char* coterie_trainer_last_error(const coterie_trainer* trainer) {
  return trainer == nullptr ? "the trainer is NULL: it could not be opened, or it was closed"
                            : trainer->last_error.c_str();
}

coterie_status coterie_trainer_step(coterie_trainer* trainer, coterie_train_progress* progress) {
  return with(trainer, [&]() -> Status {
    if (progress != nullptr) COT_TRY(check_size(*progress, "progress"));
    COT_TRY(trainer->step());
    if (progress != nullptr) fill_known_part(*progress, trainer->progress());
    return {};
  });
}

coterie_status coterie_trainer_run(coterie_trainer* trainer, uint64_t steps,
                                   int (*on_progress)(void* context, const coterie_train_progress* progress),
                                   void* context) {
  return with(trainer, [&]() -> Status {
    for (uint64_t done = 0; (steps == 0 || done < steps) && !trainer->trainer->finished(); ++done) {
      COT_TRY(trainer->step());
      const coterie_train_progress progress = trainer->progress();
      if (on_progress != nullptr && on_progress(context, &progress) != 0) break;
    }
    return {};
  });
}

coterie_status coterie_trainer_progress(coterie_trainer* trainer, coterie_train_progress* progress) {
  return with(trainer, [&]() -> Status {
    if (progress == nullptr) return null_argument("progress");
    COT_TRY(check_size(*progress, "progress"));
    fill_known_part(*progress, trainer->progress());
    return {};
  });
}

coterie_status coterie_trainer_memory(coterie_trainer* trainer, coterie_train_memory* memory) {
  return with(trainer, [&]() -> Status {
    COT_TRY(check_memory(memory));
    fill(*memory, trainer->trainer->memory());
    return {};
  });
}

coterie_status coterie_model_plan_training(coterie_model* model, const coterie_train_options* options,
                                           uint64_t example_count, coterie_train_memory* memory) {
  return with(model, [&]() -> Status {
    COT_TRY(check_memory(memory));
    COT_ASSIGN(const Model* begun, float_model(*model));
    COT_ASSIGN(const KnownOptions known, train_options_of(options));
    COT_ASSIGN(const std::optional<Model> companions, adapted(*begun, known));
    const Model& trained = companions ? *companions : *begun;
    COT_ASSIGN(const TrainOptions training, fitted(trained, known, example_count));
    COT_ASSIGN(const TrainingMemory planned, Trainer::plan(trained, training, example_count));
    fill(*memory, planned);
    return {};
  });
}

coterie_status coterie_trainer_save_checkpoint(coterie_trainer* trainer, const char* path) {
  return with(trainer, [&]() -> Status {
    COT_TRY(check_path(path));
    return trainer->trainer->save_checkpoint(path);
  });
}

coterie_status coterie_trainer_restore_checkpoint(coterie_trainer* trainer, const char* path) {
  return with(trainer, [&]() -> Status {
    COT_TRY(check_path(path));
    COT_TRY(trainer->trainer->restore_checkpoint(path));
    trainer->step_loss = 0;
    if (trainer->watch) trainer->watch->restart(trainer->trainer->summary());
    return {};
  });
}

coterie_status coterie_trainer_model(coterie_trainer* trainer, coterie_model** model) {
  if (model != nullptr) *model = nullptr;
  return with(trainer, [&]() -> Status {
    if (model == nullptr) return null_argument("model");
    COT_ASSIGN(Model trained, Model::load(trainer->model.file_with(trainer->parameters())));
    *model = new coterie_model(std::move(trained));
    return {};
  });
}

coterie_status coterie_trainer_get_parameter(coterie_trainer* trainer, const char* name, float* values, size_t count) {
  return with(trainer, [&]() -> Status {
    COT_ASSIGN(const size_t first, find_parameter(trainer->model, name, values, count));
    std::copy_n(trainer->parameters().begin() + static_cast<ptrdiff_t>(first), count, values);
    return {};
  });
}

coterie_status coterie_trainer_delta(coterie_trainer* trainer, float* values, size_t count) {
  return with(trainer, [&]() -> Status {
    if (values == nullptr) return null_argument("values");
    if (count != trainer->model.value_count()) {
      return Error(ErrorCode::invalid_argument, "the delta has " + std::to_string(trainer->model.value_count()) +
                                                    " values, not " + std::to_string(count));
    }
    const std::span<const float> start = trainer->model.parameters(), now = trainer->parameters();
    for (size_t i = 0; i < count; ++i) values[i] = now[i] - start[i];
    return {};
  });
}

}  // extern "C"
