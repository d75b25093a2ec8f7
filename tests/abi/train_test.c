// Training through the C interface: it learns, it repeats itself, and it goes on from where it was.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

// With what test_training needs, on the images of write_samples.
static coterie_trainer* open_trainer(coterie_model* model, coterie_dataset* images) {
  char error[512] = "";
  const coterie_train_options options = {.struct_size = sizeof options,
                                         .optimizer = "adam",
                                         .learning_rate = 0.01f,
                                         .schedule = "cosine:warmup=5",
                                         .batch_size = 12,
                                         .epochs = 8,
                                         .seed = 3};
  coterie_trainer* trainer = NULL;
  *images = (coterie_dataset){.struct_size = sizeof *images};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), images, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_open(model, &options, images, &trainer, error, sizeof error), COTERIE_OK);
  CHECK(strcmp(error, "") == 0);
  return trainer;
}

static void close_all(coterie_model* model, coterie_trainer* trainer, coterie_dataset* images) {
  coterie_trainer_close(&trainer);
  coterie_model_close(&model);
  coterie_dataset_close(images);
}

void test_training(void) {
  coterie_dataset images;
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = open_trainer(model, &images);
  coterie_train_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_trainer_progress(trainer, &progress), COTERIE_OK);
  CHECK(progress.steps == 0 && progress.steps_in_all == 40 && !progress.finished && progress.loss_mean == 0);
  coterie_train_memory memory = {.struct_size = sizeof memory};
  CHECK_STATUS(coterie_trainer_memory(trainer, &memory), COTERIE_OK);
  CHECK(memory.parameter_bytes > 0 && memory.optimizer_bytes == 2 * memory.parameter_bytes);
  CHECK(memory.arena_bytes >= memory.parameter_bytes + memory.optimizer_bytes + memory.planned_bytes);

  // The same is known before there is a trainer.
  coterie_train_memory planned = {.struct_size = sizeof planned};
  const coterie_train_options options = {.struct_size = sizeof options, .optimizer = "adam", .batch_size = 12};
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &planned), COTERIE_OK);
  CHECK(memcmp(&planned, &memory, sizeof planned) == 0);
  const coterie_train_options larger = {.struct_size = sizeof larger, .optimizer = "adam", .batch_size = 60};
  CHECK_STATUS(coterie_model_plan_training(model, &larger, 60, &planned), COTERIE_OK);
  CHECK(planned.planned_bytes > memory.planned_bytes && planned.parameter_bytes == memory.parameter_bytes);
  CHECK_STATUS(coterie_model_plan_training(model, NULL, 0, &planned), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "no examples");
  CHECK_STATUS(coterie_model_plan_training(model, NULL, 60, NULL), COTERIE_INVALID_ARGUMENT);

  coterie_evaluation before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  CHECK_STATUS(coterie_model_evaluate(model, &images, NULL, &before), COTERIE_OK);
  CHECK(before.examples == 60 && before.loss_mean > 0.5);
  double first_loss = 0;
  while (!progress.finished) {
    CHECK_STATUS(coterie_trainer_step(trainer, &progress), COTERIE_OK);
    if (progress.steps == 1) first_loss = progress.step_loss;
    if (progress.steps >= 100) break;
  }
  CHECK(progress.steps == 40 && progress.examples == 480 && progress.step_loss < first_loss / 2);
  CHECK(progress.accuracy > 0.5 && progress.loss_mean > progress.step_loss && progress.learning_rate < 1e-3);
  CHECK_STATUS(coterie_trainer_step(trainer, &progress), COTERIE_CONFLICT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "finished");

  coterie_model* trained = NULL;
  CHECK_STATUS(coterie_trainer_model(trainer, &trained), COTERIE_OK);
  CHECK_STATUS(coterie_model_evaluate(trained, &images, NULL, &after), COTERIE_OK);
  CHECK(after.accuracy > 0.95 && after.loss_mean < before.loss_mean / 2);

  const char* const names[] = {"f1", "top-2", "perplexity", "recall"};
  double values[4] = {-1, -1, -1, -1};
  coterie_evaluation again = {.struct_size = sizeof again};
  CHECK_STATUS(coterie_model_measure(trained, &images, NULL, names, 4, values, &again), COTERIE_OK);
  CHECK(again.examples == 60 && again.accuracy == after.accuracy && again.loss_mean == after.loss_mean);
  CHECK(values[0] > 0.9 && values[0] <= 1 && values[1] >= after.accuracy && values[1] <= 1);
  CHECK(fabs(values[2] - exp(after.loss_mean)) < 1e-12 && values[3] > 0.9 && values[3] <= 1);
  CHECK_STATUS(coterie_model_measure(trained, &images, NULL, NULL, 0, NULL, NULL), COTERIE_OK);

  // The delta is the difference of the two models, which is their parameters one by one.
  coterie_model_info info = {.struct_size = sizeof info};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  float* delta = calloc(info.flat_count, sizeof *delta);
  CHECK_STATUS(coterie_trainer_delta(trainer, delta, info.flat_count), COTERIE_OK);
  coterie_tensor bias = {.struct_size = sizeof bias};
  CHECK_STATUS(coterie_model_parameter(model, 3, &bias), COTERIE_OK);
  float from[3], to[3], now[3];
  CHECK_STATUS(coterie_model_get_parameter(model, bias.name, from, 3), COTERIE_OK);
  CHECK_STATUS(coterie_model_get_parameter(trained, bias.name, to, 3), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_get_parameter(trainer, bias.name, now, 3), COTERIE_OK);
  CHECK(memcmp(to, now, sizeof to) == 0 && memcmp(from, to, sizeof to) != 0);
  int found = 0;
  for (size_t i = 0; i + 3 <= info.flat_count; ++i) {
    found |= delta[i] == to[0] - from[0] && delta[i + 1] == to[1] - from[1] && delta[i + 2] == to[2] - from[2];
  }
  CHECK(found);
  CHECK_STATUS(coterie_trainer_delta(trainer, delta, info.flat_count - 1), COTERIE_INVALID_ARGUMENT);
  free(delta);
  coterie_model_close(&trained);
  close_all(model, trainer, &images);
}

static int same_model(coterie_trainer* a, coterie_trainer* b) {
  coterie_model *of_a = NULL, *of_b = NULL;
  const uint8_t *bytes_a = NULL, *bytes_b = NULL;
  size_t count_a = 0, count_b = 1;
  CHECK_STATUS(coterie_trainer_model(a, &of_a), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_model(b, &of_b), COTERIE_OK);
  CHECK_STATUS(coterie_model_bytes(of_a, &bytes_a, &count_a), COTERIE_OK);
  CHECK_STATUS(coterie_model_bytes(of_b, &bytes_b, &count_b), COTERIE_OK);
  const int same = count_a == count_b && memcmp(bytes_a, bytes_b, count_a) == 0;
  coterie_model_close(&of_a);
  coterie_model_close(&of_b);
  return same;
}

void test_checkpoints(void) {
  coterie_dataset images, other_images;
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = open_trainer(model, &images);
  coterie_model_close(&model);  // a trainer needs it no more
  CHECK_STATUS(coterie_trainer_run(trainer, 13, NULL, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_save_checkpoint(trainer, case_directory()), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 10, NULL, NULL), COTERIE_OK);

  model = open_sample("mlp.cotf");
  coterie_trainer* resumed = open_trainer(model, &other_images);
  CHECK(!same_model(trainer, resumed));
  CHECK_STATUS(coterie_trainer_restore_checkpoint(resumed, case_directory()), COTERIE_OK);
  coterie_train_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_trainer_progress(resumed, &progress), COTERIE_OK);
  CHECK(progress.steps == 13);
  CHECK_STATUS(coterie_trainer_run(resumed, 10, NULL, NULL), COTERIE_OK);
  CHECK(same_model(trainer, resumed));

  CHECK_STATUS(coterie_trainer_restore_checkpoint(resumed, "/no/such/checkpoint"), COTERIE_NOT_FOUND);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(resumed, sample("mlp.cotf")), COTERIE_CONFLICT);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(resumed, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_save_checkpoint(resumed, ""), COTERIE_INVALID_ARGUMENT);
  CHECK(coterie_trainer_save_checkpoint(resumed, "/no/such/folder/checkpoint") != COTERIE_OK);
  CHECK(same_model(trainer, resumed));
  close_all(model, trainer, &images);
  close_all(NULL, resumed, &other_images);
}

typedef struct run_log {
  coterie_trainer* trainer;
  uint64_t steps;
  uint64_t end_at;
} run_log;

static int log_step(void* context, const coterie_train_progress* progress) {
  run_log* log = context;
  CHECK(progress->struct_size == sizeof *progress && progress->steps == log->steps + 1);
  log->steps = progress->steps;
  coterie_train_progress asked = {.struct_size = sizeof asked};
  CHECK_STATUS(coterie_trainer_progress(log->trainer, &asked), COTERIE_OK);
  CHECK(memcmp(&asked, progress, sizeof asked) == 0);
  return log->steps == log->end_at;
}

void test_runs_of_training(void) {
  coterie_dataset images;
  coterie_model* model = open_sample("mlp.cotf");
  run_log log = {.trainer = open_trainer(model, &images), .end_at = 7};
  CHECK_STATUS(coterie_trainer_run(log.trainer, 10, &log_step, &log), COTERIE_OK);
  CHECK(log.steps == 7);
  CHECK_STATUS(coterie_trainer_run(log.trainer, 10, &log_step, &log), COTERIE_OK);
  CHECK(log.steps == 17);
  CHECK_STATUS(coterie_trainer_run(log.trainer, 0, &log_step, &log), COTERIE_OK);
  CHECK(log.steps == 40);
  CHECK_STATUS(coterie_trainer_run(log.trainer, 0, &log_step, &log), COTERIE_OK);
  CHECK(log.steps == 40);
  close_all(model, log.trainer, &images);
}

static coterie_trainer* open_tuned(coterie_model* model, coterie_dataset* images, coterie_train_options options) {
  char error[512] = "";
  coterie_trainer* trainer = NULL;
  options.struct_size = sizeof options;
  options.optimizer = "adam", options.learning_rate = 0.01f, options.batch_size = 12, options.epochs = 8;
  *images = (coterie_dataset){.struct_size = sizeof *images};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), images, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_open(model, &options, images, &trainer, error, sizeof error), COTERIE_OK);
  return trainer;
}

// Parameters that are companions' products are those of a model like the one that was opened.
void test_lora(void) {
  coterie_dataset images;
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = open_tuned(model, &images, (coterie_train_options){.lora = "rank=3:*.weight"});
  coterie_model_info info = {.struct_size = sizeof info}, trained_info = {.struct_size = sizeof trained_info};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 0, NULL, NULL), COTERIE_OK);
  coterie_model* trained = NULL;
  CHECK_STATUS(coterie_trainer_model(trainer, &trained), COTERIE_OK);
  CHECK_STATUS(coterie_model_describe(trained, &trained_info), COTERIE_OK);
  CHECK(trained_info.flat_count == info.flat_count && trained_info.file_bytes == info.file_bytes);
  coterie_evaluation before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  CHECK_STATUS(coterie_model_evaluate(model, &images, NULL, &before), COTERIE_OK);
  CHECK_STATUS(coterie_model_evaluate(trained, &images, NULL, &after), COTERIE_OK);
  CHECK(after.loss_mean < before.loss_mean / 2);

  coterie_tensor weight = {.struct_size = sizeof weight};
  CHECK_STATUS(coterie_model_parameter(trained, 0, &weight), COTERIE_OK);
  float* in_model = calloc(weight.elements, sizeof *in_model);
  float* in_trainer = calloc(weight.elements, sizeof *in_trainer);
  CHECK_STATUS(coterie_model_get_parameter(trained, weight.name, in_model, weight.elements), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_get_parameter(trainer, weight.name, in_trainer, weight.elements), COTERIE_OK);
  CHECK(memcmp(in_model, in_trainer, weight.elements * sizeof *in_model) == 0);
  float* delta = calloc(info.flat_count, sizeof *delta);
  CHECK_STATUS(coterie_trainer_delta(trainer, delta, info.flat_count), COTERIE_OK);
  int moved = 0;
  for (size_t i = 0; i < info.flat_count; ++i) moved |= delta[i] != 0;
  CHECK(moved);
  free(in_model);
  free(in_trainer);
  free(delta);
  coterie_model_close(&trained);
  close_all(model, trainer, &images);
}

// A head for two other classes, the body kept; of the body then a few channels, slowly.
void test_fine_tuning(void) {
  const char* const channels[] = {"dense1.*:0-1"};
  const char* const groups[] = {"dense1.*:lr=0.5"};
  coterie_dataset images;
  coterie_model* model = open_sample("mlp.cotf");
  CHECK_STATUS(coterie_model_replace_head(model, "nothing", 5, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "the model has no layer nothing");
  CHECK_STATUS(coterie_model_replace_head(model, NULL, 5, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_replace_head(model, "dense2", 5, 1), COTERIE_OK);
  coterie_tensor output = {.struct_size = sizeof output};
  CHECK_STATUS(coterie_model_output(model, &output), COTERIE_OK);
  CHECK(output.elements == 5);
  float features[16] = {0}, scores[5] = {1, 1, 1, 1, 1};
  const coterie_values input = {.floats = features, .count = 16};
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 1, scores, 5), COTERIE_OK);

  const coterie_train_options tuned = {
      .train_last = 2, .threads = 1, .channels = channels, .channel_count = 1, .groups = groups, .group_count = 1};
  coterie_trainer* trainer = open_tuned(model, &images, tuned);
  coterie_tensor bias = {.struct_size = sizeof bias};
  CHECK_STATUS(coterie_model_parameter(model, 1, &bias), COTERIE_OK);
  float* before = calloc(bias.elements, sizeof *before);
  float* after = calloc(bias.elements, sizeof *after);
  CHECK_STATUS(coterie_model_get_parameter(model, bias.name, before, bias.elements), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 3, NULL, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_get_parameter(trainer, bias.name, after, bias.elements), COTERIE_OK);
  CHECK(before[0] != after[0] || before[1] != after[1]);  // one may be a ReLU's that is dead
  for (size_t i = 2; i < bias.elements; ++i) CHECK(before[i] == after[i]);
  free(before);
  free(after);
  close_all(model, trainer, &images);
}

static int count_steps(void* context) { return ++*(int*)context == 3; }

void test_gated_fine_tuning(void) {
  char error[512] = "";
  coterie_model* model = open_sample("mlp.cotf");
  coterie_dataset images = {.struct_size = sizeof images};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), &images, error, sizeof error), COTERIE_OK);
  coterie_train_options options = {
      .struct_size = sizeof options, .optimizer = "adam", .learning_rate = 0.01f, .batch_size = 12, .epochs = 8};
  coterie_fine_tuning tuning = {.struct_size = sizeof tuning};
  coterie_model *tuned = NULL, *again = NULL;
  CHECK_STATUS(coterie_model_fine_tune(model, &options, &images, 0.25f, NULL, NULL, &tuning, &tuned), COTERIE_OK);
  CHECK(tuning.is_better && tuned != NULL && tuning.held_out == 15);
  CHECK(tuning.accuracy_after > tuning.accuracy_before && tuning.loss_after < tuning.loss_before);

  // Steps that round to nothing: the same is not better, and the model that is there stays.
  options.optimizer = "sgd", options.learning_rate = 1e-30f, options.epochs = 1;
  again = model;
  CHECK_STATUS(coterie_model_fine_tune(tuned, &options, &images, 0.25f, NULL, NULL, &tuning, &again), COTERIE_OK);
  CHECK(!tuning.is_better && again == NULL);

  int steps = 0;
  options.epochs = 2;
  CHECK_STATUS(coterie_model_fine_tune(model, &options, &images, 0.25f, &count_steps, &steps, NULL, &again),
               COTERIE_CANCELLED);
  CHECK(steps == 3);
  coterie_model_close(&again);
  CHECK_STATUS(coterie_model_fine_tune(model, NULL, &images, 0.01f, NULL, NULL, NULL, &again),
               COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "holds out none");
  CHECK_STATUS(coterie_model_fine_tune(model, NULL, &images, 0.25f, NULL, NULL, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_fine_tune(NULL, NULL, &images, 0.25f, NULL, NULL, NULL, &again), COTERIE_INVALID_ARGUMENT);
  options.lora = "rank=2:*.weight";
  CHECK_STATUS(coterie_model_fine_tune(model, &options, &images, 0.25f, NULL, NULL, NULL, &again),
               COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "lora does not go");
  coterie_model_close(&tuned);
  coterie_model_close(&model);
  coterie_dataset_close(&images);
}

void test_encrypted_checkpoints(void) {
  uint8_t key[32] = {1, 2, 3};
  const uint8_t other_key[32] = {9};
  coterie_dataset images, more_images, yet_more_images;
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer =
      open_tuned(model, &images, (coterie_train_options){.checkpoint_key = key, .checkpoint_key_size = 32});
  memset(key, 0, sizeof key); /* the trainer has its own */
  CHECK_STATUS(coterie_trainer_run(trainer, 3, NULL, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_save_checkpoint(trainer, case_directory()), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(trainer, case_directory()), COTERIE_OK);
  coterie_trainer* other =
      open_tuned(model, &more_images, (coterie_train_options){.checkpoint_key = other_key, .checkpoint_key_size = 32});
  CHECK_STATUS(coterie_trainer_restore_checkpoint(other, case_directory()), COTERIE_PERMISSION_DENIED);
  coterie_trainer* plain = open_tuned(model, &yet_more_images, (coterie_train_options){0});
  CHECK_STATUS(coterie_trainer_restore_checkpoint(plain, case_directory()), COTERIE_PERMISSION_DENIED);
  CHECK_CONTAINS(coterie_trainer_last_error(plain), "no key is given");
  CHECK_STATUS(coterie_trainer_save_checkpoint(plain, case_directory()), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(trainer, case_directory()), COTERIE_CONFLICT);
  close_all(NULL, other, &more_images);
  close_all(NULL, plain, &yet_more_images);
  close_all(model, trainer, &images);
}

// Activations in half the memory, the gradient of a scaled loss, and as much of the batch at a time as fits.
void test_training_within_memory(void) {
  coterie_dataset images;
  coterie_model* model = open_sample("mlp.cotf");
  coterie_train_options options = {
      .struct_size = sizeof options, .optimizer = "adam", .learning_rate = 0.01f, .batch_size = 12, .epochs = 8};
  coterie_train_memory whole = {.struct_size = sizeof whole}, fitted = {.struct_size = sizeof fitted};
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &whole), COTERIE_OK);
  CHECK(whole.micro_batch_size == 12 && whole.recomputed_steps == 0 && whole.gradient_bytes == 0);

  options.memory_budget_bytes = 100;
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &fitted), COTERIE_TOO_LARGE);
  CHECK_CONTAINS(coterie_model_last_error(model), "needs at least");
  options.memory_budget_bytes = whole.arena_bytes + whole.order_bytes;
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &fitted), COTERIE_OK);
  CHECK(memcmp(&fitted, &whole, sizeof fitted) == 0);

  options.storage = "bf16", options.loss_scale = "dynamic";
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &whole), COTERIE_TOO_LARGE);
  options.memory_budget_bytes = 0;
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &whole), COTERIE_OK);
  CHECK(whole.gradient_bytes == whole.parameter_bytes);  // a step is taken or skipped as one
  options.memory_budget_bytes = whole.arena_bytes + whole.order_bytes - 1;
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &fitted), COTERIE_OK);
  CHECK(fitted.arena_bytes < whole.arena_bytes && fitted.micro_batch_size < 12 && fitted.micro_batch_size > 0);

  coterie_trainer* trainer = NULL;
  char error[512] = "";
  images = (coterie_dataset){.struct_size = sizeof images};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), &images, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_open(model, &options, &images, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_memory(trainer, &whole), COTERIE_OK);
  CHECK(memcmp(&fitted, &whole, sizeof fitted) == 0);
  coterie_train_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_trainer_step(trainer, &progress), COTERIE_OK);
  const double first_loss = progress.step_loss;
  CHECK_STATUS(coterie_trainer_run(trainer, 0, NULL, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_progress(trainer, &progress), COTERIE_OK);
  CHECK(progress.steps == 40 && progress.loss_mean < first_loss);

  options.storage = "int4";
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &fitted), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "must be float32 or bf16, is int4");
  options.storage = NULL, options.loss_scale = "3";
  CHECK_STATUS(coterie_model_plan_training(model, &options, 60, &fitted), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "power of two");
  close_all(model, trainer, &images);
}

// The class and, as a number, a tenth of it: rows of two floats.
static uint64_t thirty(void* context) {
  (void)context;
  return 30;
}

static int read_rows(void* context, uint64_t index, const coterie_example* example) {
  (void)context;
  const uint64_t class = index % 3;
  if (example->target.count != 2) return 1;
  for (size_t i = 0; i < 16; ++i) example->inputs[0].floats[i] = i * 3 / 16 == class ? 1 : 0.1f * (float)(index % 7);
  example->target.floats[0] = (float)class;
  example->target.floats[1] = 0.1f * (float)class;
  return 0;
}

void test_heads(void) {
  coterie_model* model = open_sample("heads.cotf");
  coterie_model_info info = {.struct_size = sizeof info};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  CHECK(info.output_count == 2);
  coterie_tensor own = {.struct_size = sizeof own}, first = own, second = own;
  CHECK_STATUS(coterie_model_output(model, &own), COTERIE_OK);
  CHECK_STATUS(coterie_model_output_at(model, 0, &first), COTERIE_OK);
  CHECK_STATUS(coterie_model_output_at(model, 1, &second), COTERIE_OK);
  CHECK_STATUS(coterie_model_output_at(model, 2, &second), COTERIE_NOT_FOUND);
  CHECK(strcmp(own.name, first.name) == 0 && first.elements == 3 && second.elements == 1 && second.rank == 1);

  char texts[2][128], error[512] = "";
  snprintf(texts[0], sizeof texts[0], "%s:softmax_cross_entropy", first.name);
  snprintf(texts[1], sizeof texts[1], "%s:mean_squared_error:0.5", second.name);
  const char* const heads[] = {texts[0], texts[1]};
  coterie_train_options options = {.struct_size = sizeof options,
                                   .targets_are_values = 1,
                                   .optimizer = "adam",
                                   .learning_rate = 0.02f,
                                   .batch_size = 10,
                                   .epochs = 10,
                                   .heads = heads,
                                   .head_count = 2};
  coterie_dataset rows = good_dataset();
  rows.size = &thirty, rows.read_example = &read_rows;
  coterie_head before[2] = {{.struct_size = sizeof *before}, {.struct_size = sizeof *before}}, after[2];
  memcpy(after, before, sizeof after);
  coterie_evaluation all = {.struct_size = sizeof all};
  CHECK_STATUS(coterie_model_evaluate_heads(model, &rows, &options, before, 2, &all), COTERIE_OK);
  CHECK(strcmp(before[0].measure, "accuracy") == 0 && strcmp(before[1].measure, "mae") == 0);
  CHECK(strcmp(before[1].output, second.name) == 0 && strcmp(before[1].loss, "mean_squared_error") == 0);
  CHECK(before[1].weight == 0.5 && before[0].rows == 30);
  CHECK(fabs(all.loss_mean - before[0].loss_mean - 0.5 * before[1].loss_mean) < 1e-9);
  CHECK_STATUS(coterie_model_evaluate_heads(model, &rows, &options, before, 1, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "head_count is 1, the options have 2 heads");

  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &rows, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 0, NULL, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_head(trainer, 1, &after[1]), COTERIE_OK);
  CHECK(strcmp(after[1].output, second.name) == 0 && after[1].rows == 300);
  CHECK_STATUS(coterie_trainer_head(trainer, 2, &after[1]), COTERIE_NOT_FOUND);
  coterie_model* trained = NULL;
  CHECK_STATUS(coterie_trainer_model(trainer, &trained), COTERIE_OK);
  CHECK_STATUS(coterie_model_evaluate_heads(trained, &rows, &options, after, 2, NULL), COTERIE_OK);
  CHECK(after[0].loss_mean < before[0].loss_mean && after[1].loss_mean < before[1].loss_mean && after[0].value > 0.9);

  // All outputs at once.
  float pixels[32] = {0}, classes[6], numbers[2], alone[6];
  const coterie_values input = {pixels, NULL, 32};
  float* const places[] = {classes, numbers};
  const size_t sizes[] = {6, 2};
  CHECK_STATUS(coterie_model_predict_all(trained, &input, 1, 2, places, sizes, 2), COTERIE_OK);
  CHECK_STATUS(coterie_model_predict(trained, &input, 1, 2, alone, 6), COTERIE_OK);
  CHECK(memcmp(alone, classes, sizeof alone) == 0 && numbers[0] == numbers[1]);
  CHECK_STATUS(coterie_model_predict_all(trained, &input, 1, 2, places, sizes, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict_all(trained, &input, 1, 2, NULL, sizes, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict_all(NULL, &input, 1, 2, places, sizes, 2), COTERIE_INVALID_ARGUMENT);

  const char* const wrong[] = {texts[0], "shade:none"};
  options.heads = wrong;
  coterie_trainer* none = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &rows, &none, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "must be OUTPUT:LOSS");
  options.heads = heads, options.loss = "l1";
  CHECK_STATUS(coterie_trainer_open(model, &options, &rows, &none, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "loss does not go with heads");
  options.loss = NULL, options.heads = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &rows, &none, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "heads is NULL");
  coterie_trainer_close(&trainer);
  coterie_model_close(&trained);
  coterie_model_close(&model);
}
