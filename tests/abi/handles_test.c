// Handles: NULL, closed twice, used in the wrong order.
#include <stdint.h>

#include "tests/abi/check.h"

void test_handles(void) {
  coterie_client* client = NULL;
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(NULL, &progress), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_step(NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_run(NULL, 1, NULL, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_client_last_error(NULL), "NULL");
  coterie_client_cancel(NULL);
  coterie_client_close(NULL);
  coterie_client_close(&client);

  char error[128];
  const coterie_options options = good_options();
  const coterie_dataset dataset = good_dataset();
  CHECK_STATUS(coterie_client_open(NULL, &dataset, &client, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "must not be NULL");
  CHECK_STATUS(coterie_client_open(&options, NULL, &client, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_open(&options, &dataset, NULL, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_open(NULL, NULL, NULL, NULL, 0), COTERIE_INVALID_ARGUMENT);

  // A failed open leaves no dangling pointer behind.
  client = (coterie_client*)(uintptr_t)1;
  CHECK_STATUS(coterie_client_open(NULL, &dataset, &client, NULL, 0), COTERIE_INVALID_ARGUMENT);
  CHECK(client == NULL);
}

void test_order_of_calls(void) {
  char error[256];
  const coterie_options options = good_options();
  const coterie_dataset dataset = good_dataset();
  coterie_client* client = NULL;
  coterie_client* second = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  CHECK(strcmp(coterie_client_last_error(client), "") == 0);
  CHECK_STATUS(coterie_client_open(&options, &dataset, &second, error, sizeof error), COTERIE_CONFLICT);
  CHECK_CONTAINS(error, case_directory());
  CHECK(second == NULL);

  coterie_client_close(&client);
  CHECK(client == NULL);
  coterie_client_close(&client);
  CHECK_STATUS(coterie_client_step(client, NULL), COTERIE_INVALID_ARGUMENT);

  // Closed, the directory is free again. A cancelled client stays cancelled.
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  coterie_client_cancel(client);
  coterie_client_cancel(client);
  coterie_progress progress;
  memset(&progress, 0xff, sizeof progress);
  progress.struct_size = sizeof progress;
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_CANCELLED);
  CHECK(progress.struct_size == sizeof progress);
  CHECK(progress.activity == 0 && progress.rounds_done == 0 && progress.training_loss == 0);
  CHECK_STATUS(coterie_client_run(client, 0, NULL, NULL), COTERIE_CANCELLED);
  CHECK_CONTAINS(coterie_client_last_error(client), "cancelled");
  coterie_client_close(&client);
}
