// Models: what is in them, what they say, and every wrong way to ask.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

void test_model(void) {
  coterie_model* model = open_sample("mlp.cotf");
  coterie_model_info info = {.struct_size = sizeof info};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  CHECK(strcmp(info.name, "mlp") == 0 && info.input_count == 1 && info.parameter_count == 4);
  CHECK(info.parameters == 16 * 64 + 64 + 64 * 3 + 3 && info.flat_count >= info.parameters);
  CHECK(info.file_bytes > info.flat_count * sizeof(float) && info.flops > 2 * 16 * 64);

  coterie_tensor tensor = {.struct_size = sizeof tensor};
  CHECK_STATUS(coterie_model_input(model, 0, &tensor), COTERIE_OK);
  CHECK(tensor.type == COTERIE_TYPE_FLOAT32 && tensor.rank == 3 && tensor.elements == 16);
  CHECK(tensor.shape[0] == 4 && tensor.shape[1] == 4 && tensor.shape[2] == 1);
  CHECK_STATUS(coterie_model_output(model, &tensor), COTERIE_OK);
  CHECK(tensor.type == COTERIE_TYPE_FLOAT32 && tensor.rank == 1 && tensor.shape[0] == 3);
  uint64_t values = 0;
  for (size_t i = 0; i < info.parameter_count; ++i) {
    CHECK_STATUS(coterie_model_parameter(model, i, &tensor), COTERIE_OK);
    values += tensor.elements;
  }
  CHECK(values == info.parameters);

  // Its bytes are the file, and open as it does.
  const uint8_t* bytes = NULL;
  size_t count = 0;
  CHECK_STATUS(coterie_model_bytes(model, &bytes, &count), COTERIE_OK);
  CHECK(count == info.file_bytes);
  coterie_model* copy = NULL;
  CHECK_STATUS(coterie_model_open_bytes(bytes, count, &copy, NULL, 0), COTERIE_OK);
  CHECK_STATUS(coterie_model_save(copy, case_directory()), COTERIE_OK);
  FILE* saved = fopen(case_directory(), "rb");
  for (size_t i = 0; i < count; ++i) {
    if (fgetc(saved) == bytes[i]) continue;
    CHECK(!"the saved file is what was opened");
    break;
  }
  CHECK(fgetc(saved) == EOF);
  fclose(saved);
  coterie_model_close(&copy);
  coterie_model_close(&model);
  CHECK(model == NULL);
}

void test_model_predicts(void) {
  coterie_model* model = open_sample("mlp.cotf");
  float images[70 * 16], all[70 * 3], one[3];
  for (size_t i = 0; i < 70 * 16; ++i) images[i] = (float)(i % 23) / 23;
  coterie_values input = {.floats = images, .count = 70 * 16};
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 70, all, 70 * 3), COTERIE_OK);
  for (size_t i = 0; i < 70; ++i) {
    input = (coterie_values){.floats = images + i * 16, .count = 16};
    CHECK_STATUS(coterie_model_predict(model, &input, 1, 1, one, 3), COTERIE_OK);
    for (size_t k = 0; k < 3; ++k) CHECK(fabsf(one[k] - all[i * 3 + k]) < 1e-5f);
  }
  coterie_model_close(&model);

  // The output of this one is linear: the sum of what its inputs add.
  model = open_sample("two.cotf");
  const int32_t tokens[3] = {1, 2, 3}, no_tokens[3] = {0, 0, 0};
  const float features[4] = {1, -1, 2, 0}, no_features[4] = {0, 0, 0, 0};
  float both[2], first[2], second[2];
  coterie_values inputs[2] = {{.ints = tokens, .count = 3}, {.floats = features, .count = 4}};
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, both, 2), COTERIE_OK);
  inputs[1].floats = no_features;
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, first, 2), COTERIE_OK);
  inputs[0].ints = no_tokens;
  inputs[1].floats = features;
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, second, 2), COTERIE_OK);
  CHECK(fabsf(both[0] - first[0] - second[0]) < 1e-5f && fabsf(both[1] - first[1] - second[1]) < 1e-5f);
  CHECK(fabsf(first[0]) > 1e-3f && fabsf(second[0]) > 1e-3f);

  // A pointer of the wrong type, both, none; a number of inputs that is not the model's.
  inputs[0] = (coterie_values){.floats = features, .count = 3};
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, both, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "input 0 takes int32");
  inputs[0].ints = tokens;
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, both, 2), COTERIE_INVALID_ARGUMENT);
  inputs[0].floats = NULL;
  inputs[1].floats = NULL;
  CHECK_STATUS(coterie_model_predict(model, inputs, 2, 1, both, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "input 1 takes float32");
  for (size_t count = 0; count < 5; ++count) {
    if (count == 2) continue;
    coterie_values many[5] = {inputs[0], {.floats = features, .count = 4}};
    CHECK_STATUS(coterie_model_predict(model, many, count, 1, both, 2), COTERIE_INVALID_ARGUMENT);
    CHECK_CONTAINS(coterie_model_last_error(model), "inputs, the model has 2");
  }
  coterie_model_close(&model);
}

// It answers by its integers, says so, and refuses what is for float32 alone.
void test_model_in_int8(void) {
  coterie_model *model = open_sample("int8.cotf"), *exact = open_sample("mlp.cotf");
  coterie_model_info info = {.struct_size = sizeof info}, exact_info = {.struct_size = sizeof exact_info};
  CHECK_STATUS(coterie_model_describe(model, &info), COTERIE_OK);
  CHECK_STATUS(coterie_model_describe(exact, &exact_info), COTERIE_OK);
  CHECK(info.computes_in_int8 == 1 && exact_info.computes_in_int8 == 0 && info.output_count == 1);
  CHECK(info.parameters == exact_info.parameters && info.file_bytes < exact_info.file_bytes);

  float images[70 * 16], all[70 * 3], again[70 * 3], floats[70 * 3], one[3];
  for (size_t i = 0; i < 70 * 16; ++i) images[i] = (float)(i % 23) / 23;
  coterie_values input = {.floats = images, .count = 70 * 16};
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 70, all, 70 * 3), COTERIE_OK);
  CHECK_STATUS(coterie_model_predict(exact, &input, 1, 70, floats, 70 * 3), COTERIE_OK);
  size_t unequal = 0;
  for (size_t i = 0; i < 70 * 3; ++i) {
    CHECK(fabsf(all[i] - floats[i]) < 0.2f);
    unequal += all[i] != floats[i];
  }
  CHECK(unequal > 70);
  for (size_t i = 0; i < 70; ++i) {
    input = (coterie_values){.floats = images + i * 16, .count = 16};
    CHECK_STATUS(coterie_model_predict(model, &input, 1, 1, one, 3), COTERIE_OK);
    CHECK(memcmp(one, all + i * 3, sizeof one) == 0);
  }
  input = (coterie_values){.floats = images, .count = 70 * 16};
  float* places[2] = {again, one};
  const size_t sizes[2] = {70 * 3, 3};
  CHECK_STATUS(coterie_model_predict_all(model, &input, 1, 70, places, sizes, 1), COTERIE_OK);
  CHECK(memcmp(all, again, sizeof all) == 0);

  // It is judged by the same answers: what measures them has their accuracy.
  coterie_dataset data = {.struct_size = sizeof data};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), &data, NULL, 0), COTERIE_OK);
  coterie_evaluation evaluation = {.struct_size = sizeof evaluation}, judged = {.struct_size = sizeof judged};
  CHECK_STATUS(coterie_model_evaluate(model, &data, NULL, &evaluation), COTERIE_OK);
  CHECK_STATUS(coterie_model_evaluate(exact, &data, NULL, &judged), COTERIE_OK);
  CHECK(evaluation.examples == 60 && evaluation.loss_mean != judged.loss_mean);
  CHECK(fabs(evaluation.loss_mean - judged.loss_mean) < 0.1);
  const char* const names[] = {"top-3"};
  double value = 0;
  CHECK_STATUS(coterie_model_measure(model, &data, NULL, names, 1, &value, &judged), COTERIE_OK);
  CHECK(value == 1 && judged.loss_mean == evaluation.loss_mean && judged.accuracy == evaluation.accuracy);

  // Numbers of inputs, outputs and values that are not the model's.
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 70, all, 70 * 3 - 1), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 69, all, 69 * 3), COTERIE_INVALID_ARGUMENT);
  coterie_values many[2] = {input, input};
  CHECK_STATUS(coterie_model_predict(model, many, 2, 70, all, 70 * 3), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "2 inputs, the model has 1");
  CHECK_STATUS(coterie_model_predict(model, many, 0, 70, all, 70 * 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict_all(model, &input, 1, 70, places, sizes, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict_all(model, &input, 1, 70, places, sizes, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "0 outputs, the model has 1");

  // What trains it, or changes it.
  const float bias[3] = {1, 2, 3};
  float read[3];
  CHECK_STATUS(coterie_model_get_parameter(model, "dense2.bias", read, 3), COTERIE_OK);
  CHECK_STATUS(coterie_model_set_parameter(model, "dense2.bias", bias, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "computes in int8");
  CHECK_STATUS(coterie_model_replace_head(model, "dense2", 5, 1), COTERIE_INVALID_ARGUMENT);
  coterie_train_memory memory = {.struct_size = sizeof memory};
  CHECK_STATUS(coterie_model_plan_training(model, NULL, 60, &memory), COTERIE_INVALID_ARGUMENT);
  coterie_model* tuned = NULL;
  CHECK_STATUS(coterie_model_fine_tune(model, NULL, &data, 0.25f, NULL, NULL, NULL, &tuned), COTERIE_INVALID_ARGUMENT);
  CHECK(tuned == NULL);
  coterie_trainer* trainer = NULL;
  char error[512] = "";
  CHECK_STATUS(coterie_trainer_open(model, NULL, &data, &trainer, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "computes in int8");
  CHECK(trainer == NULL);
  coterie_dataset_close(&data);

  // Its bytes are the file's; every shortened one is refused.
  const uint8_t* bytes = NULL;
  size_t count = 0;
  CHECK_STATUS(coterie_model_bytes(model, &bytes, &count), COTERIE_OK);
  CHECK(count == info.file_bytes);
  CHECK_STATUS(coterie_model_save(model, case_directory()), COTERIE_OK);
  coterie_model* copy = NULL;
  CHECK_STATUS(coterie_model_open(case_directory(), &copy, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_model_predict(copy, &input, 1, 70, again, 70 * 3), COTERIE_OK);
  CHECK(memcmp(all, again, sizeof all) == 0);
  coterie_model_close(&copy);
  for (size_t size = 0; size < count; size += 1 + size / 7) {
    CHECK(coterie_model_open_bytes(bytes, size, &copy, error, sizeof error) != COTERIE_OK && copy == NULL);
  }
  coterie_model_close(&exact);
  coterie_model_close(&model);
}

void test_model_misuse(void) {
  char error[512];
  coterie_model* model = (coterie_model*)(uintptr_t)1;
  CHECK_STATUS(coterie_model_open(NULL, &model, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK(model == NULL);
  CHECK_CONTAINS(error, "path must not be NULL");
  CHECK_STATUS(coterie_model_open("/no/such/model", NULL, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_open("/no/such/model", &model, error, sizeof error), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(error, "/no/such/model");
  CHECK_STATUS(coterie_model_open("/dev/null", &model, error, sizeof error), COTERIE_MALFORMED);
  CHECK_CONTAINS(error, "/dev/null");
  CHECK_STATUS(coterie_model_open(sample("images.cotf"), &model, NULL, 0), COTERIE_MALFORMED);
  CHECK_STATUS(coterie_model_open_bytes(NULL, 5, &model, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_open_bytes((const uint8_t*)"", 0, &model, error, sizeof error), COTERIE_MALFORMED);

  // Every shortened file is refused.
  coterie_model* whole = open_sample("mlp.cotf");
  const uint8_t* bytes = NULL;
  size_t count = 0;
  CHECK_STATUS(coterie_model_bytes(whole, &bytes, &count), COTERIE_OK);
  for (size_t size = 0; size < count; size += 1 + size / 7) {
    CHECK(coterie_model_open_bytes(bytes, size, &model, error, sizeof error) != COTERIE_OK && model == NULL);
  }

  coterie_tensor tensor = {.struct_size = sizeof tensor};
  CHECK_STATUS(coterie_model_input(whole, 1, &tensor), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(coterie_model_last_error(whole), "input 1 of 1");
  CHECK_STATUS(coterie_model_parameter(whole, SIZE_MAX, &tensor), COTERIE_NOT_FOUND);
  CHECK_STATUS(coterie_model_output(whole, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_describe(whole, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_bytes(whole, NULL, &count), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_save(whole, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK(coterie_model_save(whole, "/no/such/folder/model") != COTERIE_OK);
  CHECK_CONTAINS(coterie_model_last_error(whole), "/no/such/folder");

  const float image[16] = {0};
  float output[3];
  const coterie_values input = {.floats = image, .count = 16};
  CHECK_STATUS(coterie_model_predict(whole, NULL, 1, 1, output, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(whole, &input, 1, 1, NULL, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(whole, &input, 1, 0, output, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(whole, &input, 1, 2, output, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(whole), "input 0 has 16 values, not 2 examples of 16");
  CHECK_STATUS(coterie_model_predict(whole, &input, 1, SIZE_MAX, output, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_predict(whole, &input, 1, 1, output, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(whole), "the output has 2 values");
  coterie_model_close(&whole);
}

void test_parameters(void) {
  coterie_model* model = open_sample("mlp.cotf");
  coterie_tensor tensor = {.struct_size = sizeof tensor};
  CHECK_STATUS(coterie_model_parameter(model, 3, &tensor), COTERIE_OK);
  CHECK(tensor.elements == 3);  // the last bias
  char name[64];
  snprintf(name, sizeof name, "%s", tensor.name);
  float bias[3] = {7, 7, 7};
  CHECK_STATUS(coterie_model_get_parameter(model, name, bias, 3), COTERIE_OK);
  CHECK(bias[0] == 0 && bias[1] == 0 && bias[2] == 0);

  const float image[16] = {0.5f}, changed[3] = {0, 100, -3};
  float before[3], after[3];
  const coterie_values input = {.floats = image, .count = 16};
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 1, before, 3), COTERIE_OK);
  CHECK_STATUS(coterie_model_set_parameter(model, name, changed, 3), COTERIE_OK);
  CHECK_STATUS(coterie_model_predict(model, &input, 1, 1, after, 3), COTERIE_OK);
  for (size_t i = 0; i < 3; ++i) CHECK(fabsf(after[i] - before[i] - changed[i]) < 1e-4f);

  const float infinite[3] = {0, INFINITY, 0};
  CHECK_STATUS(coterie_model_set_parameter(model, name, infinite, 3), COTERIE_MALFORMED);
  CHECK_CONTAINS(coterie_model_last_error(model), "not finite");
  CHECK_STATUS(coterie_model_set_parameter(model, name, changed, 2), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_model_last_error(model), "has 3 values, not 2");
  CHECK_STATUS(coterie_model_get_parameter(model, "nobody", bias, 3), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(coterie_model_last_error(model), "nobody");
  CHECK_STATUS(coterie_model_get_parameter(model, NULL, bias, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_get_parameter(model, name, NULL, 3), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_model_get_parameter(model, name, bias, 3), COTERIE_OK);
  CHECK(bias[1] == 100 && bias[2] == -3);
  coterie_model_close(&model);
}
