// Training: NULL everywhere, options that make no sense, structs of other versions, data that cannot be read.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

void test_train_handles(void) {
  coterie_tensor tensor = {.struct_size = sizeof tensor};
  float value = 0;
  CHECK_STATUS(coterie_model_describe(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_input(NULL, 0, &tensor), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_output(NULL, &tensor), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_parameter(NULL, 0, &tensor), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_get_parameter(NULL, "w", &value, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_set_parameter(NULL, "w", &value, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(NULL, NULL, 0, 0, NULL, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_evaluate(NULL, NULL, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_save(NULL, "file"), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_bytes(NULL, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_plan_training(NULL, NULL, 1, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_step(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_run(NULL, 1, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_progress(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_memory(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_save_checkpoint(NULL, "file"), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(NULL, "file"), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_get_parameter(NULL, "w", &value, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_delta(NULL, &value, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_add(NULL, &value, 1, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_add_values(NULL, NULL, 0, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_clear(NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_dataset(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK(coterie_examples_count(NULL) == 0);
  CHECK_CONTAINS(coterie_model_last_error(NULL), "NULL");
  CHECK_CONTAINS(coterie_trainer_last_error(NULL), "NULL");
  CHECK_CONTAINS(coterie_examples_last_error(NULL), "NULL");

  coterie_model* model = (coterie_model*)(uintptr_t)1;
  CHECK_STATUS(coterie_trainer_model(NULL, &model), COTERIE_INVALID_ARGUMENT);
  CHECK(model == NULL);
  coterie_trainer* trainer = NULL;
  coterie_examples* examples = NULL;
  coterie_model_close(&model);
  coterie_model_close(NULL);
  coterie_trainer_close(&trainer);
  coterie_trainer_close(NULL);
  coterie_examples_close(&examples);
  coterie_examples_close(NULL);
}

static char error[512];

static coterie_status open_with(const coterie_train_options* options, const coterie_dataset* dataset) {
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = (coterie_trainer*)(uintptr_t)1;
  const coterie_status status = coterie_trainer_open(model, options, dataset, &trainer, error, sizeof error);
  CHECK((status == COTERIE_OK) == (trainer != NULL));
  coterie_trainer_close(&trainer);
  coterie_model_close(&model);
  return status;
}

static void expect_refusal(coterie_train_options options, const char* words) {
  const coterie_dataset dataset = good_dataset();
  options.struct_size = sizeof options;
  CHECK_STATUS(open_with(&options, &dataset), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, words);
}

void test_train_options(void) {
  const coterie_dataset dataset = good_dataset();
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(open_with(NULL, &dataset), COTERIE_OK);
  CHECK_STATUS(open_with(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "dataset must not be NULL");
  CHECK_STATUS(coterie_trainer_open(NULL, NULL, &dataset, &trainer, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "model must not be NULL");

  const char* const nothing[] = {"nothing.*"};
  const char* const all[] = {"*"};
  const char* const null_pattern[] = {"*", NULL};
  const float weights[3] = {1, 2, -3};
  expect_refusal((coterie_train_options){.loss = "none"},
                 "options.loss is none, it must be one of softmax_cross_entropy, ");
  expect_refusal((coterie_train_options){.loss = ""}, "options.loss");
  expect_refusal((coterie_train_options){.optimizer = "SGD"}, "adadelta, lamb, lion");
  expect_refusal((coterie_train_options){.schedule = "sometimes"}, "sometimes");
  expect_refusal((coterie_train_options){.schedule = "cosine:warmup=many"}, "warmup");
  expect_refusal((coterie_train_options){.learning_rate = -1}, "learning_rate");
  expect_refusal((coterie_train_options){.learning_rate = NAN}, "learning_rate");
  expect_refusal((coterie_train_options){.batch_size = 32, .micro_batch_size = 5}, "micro_batch_size 5");
  expect_refusal((coterie_train_options){.clip_norm = -1}, "clip_norm");
  expect_refusal((coterie_train_options){.label_smoothing = 1}, "label_smoothing");
  expect_refusal((coterie_train_options){.class_weights = weights, .class_weight_count = 3}, "class weights");
  expect_refusal((coterie_train_options){.class_weight_count = 3}, "options.class_weights is NULL, with a count of 3");
  expect_refusal((coterie_train_options){.freeze = nothing, .freeze_count = 1}, "nothing.*");
  expect_refusal((coterie_train_options){.freeze = all, .freeze_count = 1}, "every parameter is frozen");
  expect_refusal((coterie_train_options){.train_only = null_pattern, .train_only_count = 2},
                 "options.train_only[1] is NULL");
  expect_refusal((coterie_train_options){.freeze_count = SIZE_MAX}, "options.freeze is NULL");

  const char* const channels[] = {"*:0"};
  const char* const groups[] = {"*:rate=1"};
  const uint8_t key[31] = {0};
  expect_refusal((coterie_train_options){.channels = channels, .channel_count = 1}, "PATTERN:FIRST-LAST");
  expect_refusal((coterie_train_options){.channel_count = 1}, "options.channels is NULL");
  expect_refusal((coterie_train_options){.groups = groups, .group_count = 1}, "PATTERN:lr=X,decay=Y");
  expect_refusal((coterie_train_options){.lora = "rank=0:*"}, "rank must be in");
  expect_refusal((coterie_train_options){.lora = "rank=2:nothing"}, "nothing matches no weight");
  expect_refusal((coterie_train_options){.augment = "flop"}, "is flop");
  expect_refusal((coterie_train_options){.ignore_label = "no"}, "is no");
  expect_refusal((coterie_train_options){.loss = "mean_squared_error", .ignore_label = "0"}, "ignore_label is of");
  expect_refusal((coterie_train_options){.optimise = "O4"}, "0, 1, 2 or 3");
  expect_refusal((coterie_train_options){.qat = "full:9"}, "full or weights");
  expect_refusal((coterie_train_options){.lora = "rank=2:*", .qat = "full"}, "qat does not go with lora");
  expect_refusal((coterie_train_options){.augment = "normalise=1:2/1:2"}, "the images have 1 channels");
  expect_refusal((coterie_train_options){.train_last = 100}, "train_last is 100");
  expect_refusal((coterie_train_options){.checkpoint_key = key, .checkpoint_key_size = 31},
                 "options.checkpoint_key has 31 bytes, it must have 32");
  expect_refusal((coterie_train_options){.checkpoint_key_size = 32}, "options.checkpoint_key is NULL");

  coterie_train_options options = {.struct_size = sizeof options, .memory_bytes_max = 1000};
  CHECK_STATUS(open_with(&options, &dataset), COTERIE_TOO_LARGE);
}

// `given` as an app compiled with a later header has it: more members behind, none of them zero.
static void* grown(const void* given, size_t size, size_t extra) {
  const size_t struct_size = size + extra;
  unsigned char* larger = malloc(struct_size);
  memset(larger, 0xab, struct_size);
  memcpy(larger, given, size);
  memcpy(larger, &struct_size, sizeof struct_size);
  return larger;
}

void test_train_struct_sizes(void) {
  const coterie_dataset dataset = good_dataset();
  coterie_train_options options = {.struct_size = sizeof options};
  const size_t first_release = offsetof(coterie_train_options, augment);
  for (options.struct_size = 0; options.struct_size < first_release; ++options.struct_size) {
    CHECK_STATUS(open_with(&options, &dataset), COTERIE_INVALID_ARGUMENT);
    CHECK_CONTAINS(error, "options.struct_size");
  }
  options.augment = "flop";  // behind the end of what such an app knows: not looked at
  CHECK_STATUS(open_with(&options, &dataset), COTERIE_OK);
  options = (coterie_train_options){.struct_size = sizeof options};
  coterie_train_options* later = grown(&options, sizeof options, 24);
  CHECK_STATUS(open_with(later, &dataset), COTERIE_OK);
  free(later);

  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, NULL, &dataset, &trainer, NULL, 0), COTERIE_OK);
  coterie_model_info info = {.struct_size = offsetof(coterie_model_info, output_count)};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  info.struct_size -= 1;
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "info.struct_size");
  coterie_tensor tensor = {.struct_size = 0};
  CHECK_STATUS(coterie_model_output(model, &tensor), COTERIE_INVALID_ARGUMENT);
  coterie_evaluation evaluation = {.struct_size = 0};
  CHECK_STATUS(coterie_model_evaluate(model, &dataset, NULL, &evaluation), COTERIE_INVALID_ARGUMENT);
  coterie_train_memory memory = {.struct_size = 0};
  CHECK_STATUS(coterie_trainer_memory(trainer, &memory), COTERIE_INVALID_ARGUMENT);

  // A step whose progress cannot be told is not taken.
  coterie_train_progress progress = {.struct_size = 3};
  CHECK_STATUS(coterie_trainer_step(trainer, &progress), COTERIE_INVALID_ARGUMENT);
  progress.struct_size = sizeof progress;
  CHECK_STATUS(coterie_trainer_progress(trainer, &progress), COTERIE_OK);
  CHECK(progress.steps == 0);
  unsigned char* later_progress = grown(&progress, sizeof progress, 16);
  CHECK_STATUS(coterie_trainer_step(trainer, (coterie_train_progress*)later_progress), COTERIE_OK);
  CHECK(((coterie_train_progress*)later_progress)->steps == 1);
  for (size_t i = 0; i < 16; ++i) CHECK(later_progress[sizeof progress + i] == 0);
  free(later_progress);
  coterie_trainer_close(&trainer);
  coterie_model_close(&model);
}

// A data set that is good, but for what a case changes.
typedef struct host {
  uint64_t size;
  int result;
  int32_t label;
  float feature;
} host;

static uint64_t host_size(void* context) { return ((host*)context)->size; }

static int host_read(void* context, uint64_t index, float* features, size_t feature_count, int32_t* label) {
  const host* h = context;
  CHECK(index < h->size && feature_count == 16);
  for (size_t i = 0; i < feature_count; ++i) features[i] = h->feature;
  *label = h->label;
  return h->result;
}

void test_train_data(void) {
  host h = {.size = 0};
  coterie_dataset dataset = {.struct_size = sizeof dataset, .context = &h, .size = &host_size, .read = &host_read};
  CHECK_STATUS(open_with(NULL, &dataset), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "no examples");
  h.size = UINT64_MAX;
  CHECK_STATUS(open_with(NULL, &dataset), COTERIE_TOO_LARGE);

  h = (host){.size = 10};
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, NULL, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  coterie_evaluation evaluation = {.struct_size = sizeof evaluation};
  h.result = -1;
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_UNAVAILABLE);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "could not read example");
  CHECK_STATUS(coterie_model_evaluate(model, &dataset, NULL, &evaluation), COTERIE_UNAVAILABLE);
  h = (host){.size = 10, .label = 3};
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "label");
  CHECK_STATUS(coterie_model_evaluate(model, &dataset, NULL, &evaluation), COTERIE_INVALID_ARGUMENT);
  const char* const wrong[] = {"f1", "f2"};
  const char* const other[] = {"recall", "mae"};
  const char* const none[] = {NULL};
  double values[2] = {7, 7};
  h = (host){.size = 10};
  CHECK_STATUS(coterie_model_measure(model, &dataset, NULL, wrong, 2, values, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "there is no f2");
  CHECK_STATUS(coterie_model_measure(model, &dataset, NULL, other, 2, values, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "mae needs a loss of numbers");
  CHECK_STATUS(coterie_model_measure(model, &dataset, NULL, none, 1, values, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_measure(model, &dataset, NULL, wrong, 1, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_measure(NULL, &dataset, NULL, wrong, 1, values, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK(values[0] == 7 && values[1] == 7);
  h = (host){.size = 10, .feature = NAN};
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "not finite");
  h = (host){.size = 10};  // none of them was a step
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_OK);
  coterie_train_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_trainer_progress(trainer, &progress), COTERIE_OK);
  CHECK(progress.steps == 1 && progress.finished);

  h.size = 0;
  CHECK_STATUS(coterie_model_evaluate(model, &dataset, NULL, &evaluation), COTERIE_INVALID_ARGUMENT);
  coterie_trainer_close(&trainer);
  coterie_model_close(&model);
}
