// Runs every case: coterie.h and coterie_train.h from the outside, compiled as C11, linked with libcoterie.so.
// Usage: abi_test SAMPLES_DIRECTORY
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

int check_failures = 0;

static char directory[] = "/tmp/coterie-abi-XXXXXX";
static char case_path[64];

const char* case_directory(void) { return case_path; }

void new_case_directory(void) {
  static int count = 0;
  snprintf(case_path, sizeof case_path, "%s/%d", directory, ++count);
}

static const char* samples_directory;

const char* sample(const char* name) {
  static char paths[2][512];
  static int turn = 0;
  turn = !turn;
  snprintf(paths[turn], sizeof paths[turn], "%s/%s", samples_directory, name);
  return paths[turn];
}

coterie_model* open_sample(const char* name) {
  char error[512] = "";
  coterie_model* model = NULL;
  CHECK_STATUS(coterie_model_open(sample(name), &model, error, sizeof error), COTERIE_OK);
  CHECK(strcmp(error, "") == 0);
  return model;
}

static uint64_t two(void* context) {
  (void)context;
  return 2;
}

static int read_zeros(void* context, uint64_t index, float* features, size_t feature_count, int32_t* label) {
  (void)context;
  memset(features, 0, feature_count * sizeof *features);
  *label = (int32_t)index;
  return 0;
}

static int never_answers(void* context, const coterie_http_request* request, coterie_http_reply* reply) {
  (void)context;
  (void)request;
  (void)reply;
  return 1;
}

coterie_transport dead_transport(void) {
  const coterie_transport transport = {.struct_size = sizeof transport, .send = &never_answers};
  return transport;
}

coterie_options good_options(void) {
  static coterie_transport transport;
  transport = dead_transport();
  const coterie_options options = {.struct_size = sizeof options,
                                   .state_dir = case_directory(),
                                   .enrollment_token = "token",
                                   .seed = 1,
                                   .transport = &transport};
  return options;
}

coterie_dataset good_dataset(void) {
  const coterie_dataset dataset = {.struct_size = sizeof dataset, .size = &two, .read = &read_zeros};
  return dataset;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  samples_directory = argv[1];
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {
      {"handles", &test_handles},
      {"order_of_calls", &test_order_of_calls},
      {"options", &test_options},
      {"authority", &test_authority},
      {"conditions", &test_conditions},
      {"holds", &test_holds},
      {"policy", &test_policy},
      {"requirements", &test_requirements},
      {"refusal", &test_refusal},
      {"struct_sizes", &test_struct_sizes},
      {"error_text", &test_error_text},
      {"dataset_file", &test_dataset_file},
      {"names", &test_names},
      {"transport_answers", &test_transport_answers},
      {"transport_misuse", &test_transport_misuse},
      {"run", &test_run},
      {"log", &test_log},
      {"model", &test_model},
      {"model_predicts", &test_model_predicts},
      {"model_in_int8", &test_model_in_int8},
      {"model_misuse", &test_model_misuse},
      {"parameters", &test_parameters},
      {"training", &test_training},
      {"heads", &test_heads},
      {"checkpoints", &test_checkpoints},
      {"lora", &test_lora},
      {"fine_tuning", &test_fine_tuning},
      {"gated_fine_tuning", &test_gated_fine_tuning},
      {"encrypted_checkpoints", &test_encrypted_checkpoints},
      {"training_within_memory", &test_training_within_memory},
      {"runs_of_training", &test_runs_of_training},
      {"watch", &test_watch},
      {"watch_misuse", &test_watch_misuse},
      {"train_handles", &test_train_handles},
      {"train_options", &test_train_options},
      {"train_struct_sizes", &test_train_struct_sizes},
      {"train_data", &test_train_data},
      {"pushed_examples", &test_pushed_examples},
      {"examples_of_any_model", &test_examples_of_any_model},
      {"read_example", &test_read_example},
  };
  if (mkdtemp(directory) == NULL) return 1;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const int before = check_failures;
    new_case_directory();
    cases[i].run();
    printf("%s: %s\n", cases[i].name, check_failures == before ? "ok" : "FAILED");
  }
  char command[64];
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  if (system(command) != 0) return 1;
  return check_failures == 0 ? 0 : 1;
}
