// Options: what is missing, and structs of other versions of this header.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

static coterie_status open_and_close(const coterie_options* options, const coterie_dataset* dataset, char* error,
                                     size_t error_size) {
  coterie_client* client = NULL;
  const coterie_status status = coterie_client_open(options, dataset, &client, error, error_size);
  CHECK((status == COTERIE_OK) == (client != NULL));
  coterie_client_close(&client);
  return status;
}

void test_options(void) {
  char error[512];
  const coterie_dataset dataset = good_dataset();
  const coterie_transport no_send = {.struct_size = sizeof no_send};
  coterie_options options = good_options();
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_OK);
  CHECK(error[0] == 0);

  options.state_dir = NULL;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "options.state_dir is missing");
  options.state_dir = "";
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  options.state_dir = "/dev/null/state";
  CHECK(open_and_close(&options, &dataset, error, sizeof error) != COTERIE_OK);
  CHECK_CONTAINS(error, "/dev/null");

  options = good_options();
  options.transport = NULL;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "options.server_url is missing");
  options.server_url = "http://plain.example.org";
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "https://host:port");
  options.server_url = "https://fl.example.org";
  options.ca_file = "/no/such/ca.pem";
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(error, "/no/such/ca.pem");
  options.transport = &no_send;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "send is missing");

  options = good_options();
  options.train_ms_max = options.checkin_ms_max = options.checkpoint_steps = UINT32_MAX;
  options.use_p256 = -1;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_OK);

  for (options.group = 0; options.group <= 8; ++options.group) {
    CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_OK);
  }
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "group must be at most 8");
  options.group = UINT64_MAX;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  options.group = 0;

  coterie_dataset half = dataset;
  half.size = NULL;
  CHECK_STATUS(open_and_close(&options, &half, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "dataset.size is missing");
  half = dataset;
  half.read = NULL;
  CHECK_STATUS(open_and_close(&options, &half, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "dataset.read is missing");
}

// `given` as an app compiled with a later header has it: more members behind, none of them zero.
static void* grown(const void* given, size_t size, size_t extra) {
  unsigned char* larger = malloc(size + extra);
  const size_t struct_size = size + extra;
  memset(larger, 0xab, struct_size);
  memcpy(larger, given, size);
  memcpy(larger, &struct_size, sizeof struct_size);
  return larger;
}

void test_struct_sizes(void) {
  char error[512];
  coterie_options options = good_options();
  coterie_dataset dataset = good_dataset();
  coterie_transport transport = dead_transport();
  options.transport = &transport;
  for (size_t size = 0; size < offsetof(coterie_options, policy); ++size) {
    options.struct_size = size;
    CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
    CHECK_CONTAINS(error, "options.struct_size");
  }
  // The policy came later: options may be without it, and half of it counts as none.
  memset(&options.policy, 0xab, sizeof options.policy);
  for (size_t size = offsetof(coterie_options, policy); size < offsetof(coterie_options, on_refused); ++size) {
    options.struct_size = size;
    CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_OK);
  }
  options.policy = NULL;
  options.struct_size = sizeof options;
  // read_example came later: a data set may be without it, and half of it counts as none.
  for (size_t size = 0; size < offsetof(coterie_dataset, read_example); ++size) {
    dataset.struct_size = size;
    CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
    CHECK_CONTAINS(error, "dataset.struct_size");
  }
  memset(&dataset.read_example, 0xab, sizeof dataset.read_example);
  for (size_t size = offsetof(coterie_dataset, read_example); size < sizeof dataset; ++size) {
    dataset.struct_size = size;
    CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_OK);
  }
  dataset.read_example = NULL;
  dataset.struct_size = sizeof dataset;
  transport.struct_size = sizeof transport - 1;
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "options.transport.struct_size");
  transport.struct_size = sizeof transport;

  coterie_options* later_options = grown(&options, sizeof options, 24);
  coterie_dataset* later_dataset = grown(&dataset, sizeof dataset, 8);
  coterie_transport* later_transport = grown(&transport, sizeof transport, 40);
  later_options->transport = later_transport;
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(later_options, later_dataset, &client, error, sizeof error), COTERIE_OK);
  free(later_options);  // the structs need not outlive the call
  free(later_dataset);
  free(later_transport);

  coterie_progress progress = {.struct_size = 0};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_client_last_error(client), "progress.struct_size is 0");
  progress.struct_size = offsetof(coterie_progress, hold) - 1;  // less than the first release had
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_INVALID_ARGUMENT);
  progress.struct_size = sizeof progress;
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_ENROLLED && progress.step_status == COTERIE_UNAVAILABLE);
  CHECK_STATUS(coterie_client_step(client, NULL), COTERIE_OK);

  // What the library does not know of a later struct reads as 0.
  unsigned char* later = grown(&progress, sizeof progress, 16);
  CHECK_STATUS(coterie_client_step(client, (coterie_progress*)later), COTERIE_OK);
  CHECK(((coterie_progress*)later)->struct_size == sizeof progress + 16);
  for (size_t i = 0; i < 16; ++i) CHECK(later[sizeof progress + i] == 0);
  free(later);
  coterie_client_close(&client);
}

void test_error_text(void) {
  const coterie_dataset dataset = good_dataset();
  coterie_options options = good_options();
  options.state_dir = NULL;
  char error[8] = "1234567";
  CHECK_STATUS(open_and_close(&options, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK(strcmp(error, "options") == 0);
  CHECK_STATUS(open_and_close(&options, &dataset, error, 1), COTERIE_INVALID_ARGUMENT);
  CHECK(error[0] == 0 && error[1] == 'p');
  error[0] = 'x';
  CHECK_STATUS(open_and_close(&options, &dataset, error, 0), COTERIE_INVALID_ARGUMENT);
  CHECK(error[0] == 'x');
  CHECK_STATUS(open_and_close(&options, &dataset, NULL, 100), COTERIE_INVALID_ARGUMENT);
}
