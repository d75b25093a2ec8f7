// What an app asks of its device, says of it, and hears when the client is held back.
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/abi/check.h"

static coterie_client* open_with(coterie_requirements requirements, coterie_status expected, const char* words) {
  char error[512];
  const coterie_dataset dataset = good_dataset();
  coterie_options options = good_options();
  options.requirements = &requirements;
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), expected);
  CHECK_CONTAINS(error, words);
  return client;
}

static void expect_requirements(coterie_requirements requirements, coterie_status expected, const char* words) {
  coterie_client* client = open_with(requirements, expected, words);
  coterie_client_close(&client);
}

void test_requirements(void) {
  const size_t size = sizeof(coterie_requirements);
  const coterie_status wrong = COTERIE_INVALID_ARGUMENT;
  expect_requirements((coterie_requirements){.struct_size = size}, COTERIE_OK, "");
  expect_requirements((coterie_requirements){.struct_size = size,
                                             .idle = 1,
                                             .charging = 1,
                                             .unmetered = UINT32_MAX,
                                             .background = 1,
                                             .battery_percent_min = 100,
                                             .thermal_max = COTERIE_THERMAL_CRITICAL,
                                             .free_memory_bytes_min = 1ull << 40,
                                             .cpu_seconds_per_day = 1e9,
                                             .upload_bytes_per_day = 1ull << 50,
                                             .download_bytes_per_day = 1,
                                             .joules_per_day = 1e6,
                                             .watts = 1000,
                                             .training_bytes_max = 1ull << 50,
                                             .width_max = 0.25},
                      COTERIE_OK, "");
  const size_t first_release = offsetof(coterie_requirements, training_bytes_max);
  for (size_t less = 0; less < first_release; ++less) {
    expect_requirements((coterie_requirements){.struct_size = less}, wrong, "requirements.struct_size");
  }
  expect_requirements((coterie_requirements){.struct_size = first_release, .width_max = 9}, COTERIE_OK, "");
  expect_requirements((coterie_requirements){.struct_size = size, .foreground = 1, .background = 1}, wrong,
                      "background");
  expect_requirements((coterie_requirements){.struct_size = size, .battery_percent_min = 101}, wrong,
                      "battery_percent_min");
  expect_requirements((coterie_requirements){.struct_size = size, .battery_percent_min = 256}, wrong,
                      "battery_percent_min");
  expect_requirements((coterie_requirements){.struct_size = size, .thermal_max = 5}, wrong, "thermal_max");
  expect_requirements((coterie_requirements){.struct_size = size, .thermal_max = 257}, wrong, "thermal_max");
  expect_requirements((coterie_requirements){.struct_size = size, .free_memory_bytes_min = UINT64_MAX}, wrong,
                      "free_memory_bytes_min");
  expect_requirements((coterie_requirements){.struct_size = size, .cpu_seconds_per_day = -1}, wrong,
                      "cpu_seconds_per_day");
  expect_requirements((coterie_requirements){.struct_size = size, .cpu_seconds_per_day = HUGE_VAL}, wrong,
                      "cpu_seconds_per_day");
  expect_requirements((coterie_requirements){.struct_size = size, .cpu_seconds_per_day = 1e300}, wrong, "CPU seconds");
  expect_requirements((coterie_requirements){.struct_size = size, .cpu_seconds_per_day = 1e-9}, wrong,
                      "cpu_seconds_per_day");
  expect_requirements((coterie_requirements){.struct_size = size, .upload_bytes_per_day = UINT64_MAX}, wrong,
                      "bytes up");
  expect_requirements((coterie_requirements){.struct_size = size, .joules_per_day = 5}, wrong, "watts");
  expect_requirements((coterie_requirements){.struct_size = size, .joules_per_day = (double)NAN, .watts = 1}, wrong,
                      "joules_per_day");
  expect_requirements((coterie_requirements){.struct_size = size, .watts = 1001}, wrong, "watts");
  expect_requirements((coterie_requirements){.struct_size = size, .training_bytes_max = UINT64_MAX}, wrong,
                      "training_bytes_max");
  for (double width = -1; width <= 3; width += 2.5) {  // -1, 1.5
    expect_requirements((coterie_requirements){.struct_size = size, .width_max = width}, wrong, "width_max");
  }
  expect_requirements((coterie_requirements){.struct_size = size, .width_max = (double)NAN}, wrong, "width_max");
}

void test_conditions(void) {
  coterie_client* client =
      open_with((coterie_requirements){.struct_size = sizeof(coterie_requirements)}, COTERIE_OK, "");
  const size_t size = sizeof(coterie_conditions);
  const coterie_status wrong = COTERIE_INVALID_ARGUMENT;
  coterie_conditions said = {.struct_size = size};
  CHECK_STATUS(coterie_client_set_conditions(client, &said), COTERIE_OK);
  CHECK_STATUS(coterie_client_set_conditions(NULL, &said), wrong);
  CHECK_STATUS(coterie_client_set_conditions(client, NULL), wrong);
  for (size_t less = 0; less < size; ++less) {
    said.struct_size = less;
    CHECK_STATUS(coterie_client_set_conditions(client, &said), wrong);
  }
  const coterie_conditions bad[] = {{.struct_size = size, .idle = 3},
                                    {.struct_size = size, .charging = UINT32_MAX},
                                    {.struct_size = size, .unmetered = 3},
                                    {.struct_size = size, .foreground = 3},
                                    {.struct_size = size, .battery_percent = 101},
                                    {.struct_size = size, .thermal = 5}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    CHECK_STATUS(coterie_client_set_conditions(client, &bad[i]), wrong);
  }
  coterie_client_close(&client);
}

// An app of the version before has a shorter struct of progress: it hears of the activity, and has no room for more.
void test_holds(void) {
  coterie_client* client =
      open_with((coterie_requirements){.struct_size = sizeof(coterie_requirements), .charging = 1}, COTERIE_OK, "");
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_HELD && progress.hold == COTERIE_HOLD_CHARGING);
  CHECK_STATUS(progress.step_status, COTERIE_REFUSED);
  CHECK(progress.wait_ms > 0);
  CHECK_CONTAINS(coterie_client_last_error(client), "charging is asked for");
  progress = (coterie_progress){.struct_size = offsetof(coterie_progress, hold), .hold = (coterie_hold)7};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_HELD && progress.hold == (coterie_hold)7);

  coterie_conditions said = {.struct_size = sizeof said, .charging = COTERIE_ANSWER_YES};
  CHECK_STATUS(coterie_client_set_conditions(client, &said), COTERIE_OK);
  progress = (coterie_progress){.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_ENROLLED && progress.hold == COTERIE_HOLD_NONE);
  coterie_client_close(&client);
  CHECK(strcmp(coterie_hold_name(COTERIE_HOLD_FREE_MEMORY), "free_memory") == 0);
}
