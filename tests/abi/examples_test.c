// Examples that the app pushes, and data sets for models that take more than one input and one class.
#include <stdint.h>

#include "tests/abi/check.h"

void test_pushed_examples(void) {
  char error[512];
  coterie_model* model = open_sample("mlp.cotf");
  coterie_examples* examples = NULL;
  CHECK_STATUS(coterie_examples_open(NULL, &examples, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_open(model, &examples, error, sizeof error), COTERIE_OK);
  float image[16] = {0};
  for (int i = 0; i < 9; ++i) {
    image[i] = 1;
    CHECK_STATUS(coterie_examples_add(examples, image, 16, i % 3), COTERIE_OK);
  }
  CHECK_STATUS(coterie_examples_add(examples, image, 15, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_examples_last_error(examples), "input 0 takes 16 floats, given 15 floats");
  CHECK_STATUS(coterie_examples_add(examples, NULL, 16, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_add_values(examples, NULL, 1, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK(coterie_examples_count(examples) == 9);

  // They are a data set like any other, and closing that leaves them alone.
  coterie_dataset dataset = {.struct_size = sizeof dataset};
  CHECK_STATUS(coterie_examples_dataset(examples, &dataset), COTERIE_OK);
  CHECK(dataset.size(dataset.context) == 9);
  int32_t label = -1;
  CHECK(dataset.read(dataset.context, 4, image, 16, &label) == 0 && label == 1 && image[4] == 1 && image[5] == 0);
  CHECK(dataset.read(dataset.context, 9, image, 16, &label) != 0);
  CHECK(dataset.read(dataset.context, 0, image, 17, &label) != 0);
  coterie_dataset_close(&dataset);
  CHECK(dataset.read != NULL && coterie_examples_count(examples) == 9);

  const coterie_train_options options = {.struct_size = sizeof options, .batch_size = 4, .epochs = 10};
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_examples_add(examples, image, 16, 2), COTERIE_OK);  // not part of this training
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_examples_clear(examples), COTERIE_OK);
  CHECK(coterie_examples_count(examples) == 0);
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_UNAVAILABLE);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "is gone: 0 are left");
  coterie_trainer_close(&trainer);

  // A class that the model does not have is the training's to find.
  CHECK_STATUS(coterie_examples_add(examples, image, 16, 3), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_open(model, &options, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_INVALID_ARGUMENT);
  coterie_trainer_close(&trainer);
  coterie_examples_close(&examples);
  coterie_model_close(&model);
}

void test_examples_of_any_model(void) {
  char error[512];
  coterie_model* model = open_sample("two.cotf");
  coterie_examples* examples = NULL;
  CHECK_STATUS(coterie_examples_open(model, &examples, error, sizeof error), COTERIE_OK);
  const int32_t tokens[3] = {1, 2, 3};
  const float features[4] = {1, 0, -1, 2}, wanted[2] = {0.5f, -0.5f};
  const coterie_values inputs[2] = {{.ints = tokens, .count = 3}, {.floats = features, .count = 4}};
  const coterie_values target = {.floats = wanted, .count = 2}, none = {.count = 0};
  CHECK_STATUS(coterie_examples_add(examples, features, 4, 1), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_examples_last_error(examples), "1 inputs, the model takes 2");
  CHECK_STATUS(coterie_examples_add_values(examples, inputs, 2, &none), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_examples_add_values(examples, inputs, 2, &target), COTERIE_OK);
  const coterie_values swapped[2] = {inputs[1], inputs[0]}, label = {.ints = tokens, .count = 1};
  CHECK_STATUS(coterie_examples_add_values(examples, swapped, 2, &target), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_examples_last_error(examples), "input 0 takes 3 ints, given 4 floats");
  CHECK_STATUS(coterie_examples_add_values(examples, inputs, 2, &label), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_examples_last_error(examples), "the target takes 2 floats, given 1 ints");
  CHECK(coterie_examples_count(examples) == 1);

  coterie_dataset dataset = {.struct_size = sizeof dataset};
  CHECK_STATUS(coterie_examples_dataset(examples, &dataset), COTERIE_OK);
  coterie_train_options options = {.struct_size = sizeof options,
                                   .loss = "mean_squared_error",
                                   .targets_are_values = 1,
                                   .learning_rate = 0.01f,
                                   .epochs = 200};
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 0, NULL, NULL), COTERIE_OK);
  coterie_train_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_trainer_progress(trainer, &progress), COTERIE_OK);
  CHECK(progress.steps == 200 && progress.step_loss < 1e-4);
  coterie_trainer_close(&trainer);

  // A classifier wants one class where these have two numbers.
  options.loss = NULL;
  options.targets_are_values = 0;
  CHECK_STATUS(coterie_trainer_open(model, &options, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_step(trainer, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "the target has 2 values an example");
  coterie_trainer_close(&trainer);
  coterie_examples_close(&examples);
  coterie_model_close(&model);
}

static int read_two(void* context, uint64_t index, const coterie_example* example) {
  ++*(int*)context;
  CHECK(example->struct_size == sizeof *example && example->input_count == 2);
  CHECK(example->inputs[0].count == 3 && example->inputs[1].count == 4 && example->target.count == 1);
  for (int i = 0; i < 3; ++i) example->inputs[0].ints[i] = (int32_t)index + i;
  for (int i = 0; i < 4; ++i) example->inputs[1].floats[i] = (float)index;
  example->target.ints[0] = (int32_t)index;
  return index == 1;
}

void test_read_example(void) {
  char error[512];
  coterie_model* model = open_sample("two.cotf");
  coterie_evaluation evaluation = {.struct_size = sizeof evaluation};
  coterie_dataset dataset = good_dataset();
  CHECK_STATUS(coterie_model_evaluate(model, &dataset, NULL, &evaluation), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "dataset.read_example is missing");

  int calls = 0;
  dataset.context = &calls;
  dataset.read = NULL;
  dataset.read_example = &read_two;
  const coterie_train_options options = {.struct_size = sizeof options, .batch_size = 1, .epochs = 2};
  coterie_trainer* trainer = NULL;
  CHECK_STATUS(coterie_trainer_open(model, &options, &dataset, &trainer, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 0, NULL, NULL),
               COTERIE_UNAVAILABLE);  // both examples are met, one is bad
  CHECK(calls == 1 || calls == 2);
  coterie_trainer_close(&trainer);
  coterie_model_close(&model);
}
