// Names, versions, logs, and data set files that are none.
#include "tests/abi/check.h"

void test_names(void) {
  CHECK(strcmp(coterie_version(), COTERIE_ABI_TEST_VERSION) == 0);
  CHECK(strcmp(coterie_status_name(COTERIE_OK), "ok") == 0);
  CHECK(strcmp(coterie_status_name(COTERIE_ROUND_CLOSED), "round_closed") == 0);
  CHECK(strcmp(coterie_status_name((coterie_status)21), "internal") == 0);
  CHECK(strcmp(coterie_status_name((coterie_status)31), "internal") == 0);
  CHECK(strcmp(coterie_activity_name(COTERIE_ACTIVITY_FETCHED_MODEL), "fetched_model") == 0);
  CHECK(strcmp(coterie_security_level_name(COTERIE_SECURITY_NONE), "none") == 0);
  CHECK(strcmp(coterie_security_level_name(COTERIE_SECURITY_ACTIVE_DP), "active_dp") == 0);
  CHECK(strcmp(coterie_activity_name((coterie_activity)0), "unknown") == 0);
  CHECK(strcmp(coterie_activity_name((coterie_activity)15), "unknown") == 0);
}

static void count_line(const char* line) { CHECK(line != NULL && line[0] == '{'); }

void test_log(void) {
  coterie_set_log(&count_line);
  coterie_set_log(NULL);
  coterie_set_log(NULL);
}

void test_dataset_file(void) {
  char error[512];
  coterie_dataset dataset = {.struct_size = sizeof dataset};
  CHECK_STATUS(coterie_dataset_open(NULL, &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "must not be NULL");
  CHECK_STATUS(coterie_dataset_open("file", NULL, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_dataset_open("/no/such/file", &dataset, error, sizeof error), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(error, "/no/such/file");
  CHECK_STATUS(coterie_dataset_open("/dev/null", &dataset, NULL, 0), COTERIE_MALFORMED);
  CHECK(dataset.context == NULL && dataset.size == NULL && dataset.read == NULL);
  dataset.struct_size = 0;
  CHECK_STATUS(coterie_dataset_open("/dev/null", &dataset, error, sizeof error), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(error, "dataset.struct_size is 0");

  coterie_dataset_close(NULL);
  coterie_dataset_close(&dataset);
  coterie_dataset own = good_dataset();
  coterie_dataset_close(&own);
  CHECK(own.read != NULL);
}
