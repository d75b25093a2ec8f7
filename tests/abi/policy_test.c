// The app's policy: its ranges, and what the app hears of a plan that is refused.
#include <float.h>
#include <math.h>
#include <stdint.h>

#include "tests/abi/check.h"

static void expect_policy(coterie_policy policy, coterie_status status, const char* words) {
  char error[512];
  const coterie_dataset dataset = good_dataset();
  coterie_options options = good_options();
  options.policy = &policy;
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), status);
  CHECK_CONTAINS(error, words);
  coterie_client_close(&client);
}

void test_policy(void) {
  const size_t size = sizeof(coterie_policy);
  expect_policy((coterie_policy){.struct_size = size}, COTERIE_OK, "");
  expect_policy((coterie_policy){.struct_size = size,
                                 .security_level_min = COTERIE_SECURITY_ACTIVE_DP,
                                 .cohort_min = 10000,
                                 .epsilon_round_max = DBL_MAX,
                                 .epsilon_total_max = DBL_MAX,
                                 .delta_max = 0.999,
                                 .separation_min = UINT64_MAX,
                                 .corrupt_share_min = 1.0 / 3,
                                 .attempts_max = UINT32_MAX,
                                 .openings_max = UINT32_MAX,
                                 .accepts_analytics = 1},
                COTERIE_OK, "");
  const coterie_status wrong = COTERIE_INVALID_ARGUMENT;
  const size_t first_size = offsetof(coterie_policy, corrupt_share_min);
  for (size_t less = 0; less < first_size; ++less) {
    expect_policy((coterie_policy){.struct_size = less}, wrong, "options.policy.struct_size");
  }
  expect_policy((coterie_policy){.struct_size = offsetof(coterie_policy, openings_max), .openings_max = 7}, COTERIE_OK,
                "");
  expect_policy((coterie_policy){.struct_size = first_size, .corrupt_share_min = 7}, COTERIE_OK, "");
  // What an app of before the member has behind it is padding, and says nothing.
  CHECK(offsetof(coterie_policy, accepts_analytics) >= offsetof(coterie_policy, openings_max) + 2 * sizeof(uint32_t));
  expect_policy((coterie_policy){.struct_size = size, .security_level_min = 4}, wrong, "security_level_min");
  expect_policy((coterie_policy){.struct_size = size, .security_level_min = UINT32_MAX}, wrong, "security_level_min");
  expect_policy((coterie_policy){.struct_size = size, .cohort_min = 1}, wrong, "cohort_min");
  expect_policy((coterie_policy){.struct_size = size, .cohort_min = 10001}, wrong, "cohort_min");
  expect_policy((coterie_policy){.struct_size = size, .epsilon_round_max = HUGE_VAL, .epsilon_total_max = HUGE_VAL},
                COTERIE_OK, "");
  expect_policy((coterie_policy){.struct_size = size, .epsilon_round_max = -1}, wrong, "epsilon_round_max");
  expect_policy((coterie_policy){.struct_size = size, .epsilon_total_max = (double)NAN}, wrong, "epsilon_total_max");
  expect_policy((coterie_policy){.struct_size = size, .delta_max = 1}, wrong, "delta_max");
  expect_policy((coterie_policy){.struct_size = size, .corrupt_share_min = 0.09}, wrong, "corrupt_share_min");
  expect_policy((coterie_policy){.struct_size = size, .corrupt_share_min = 0.34}, wrong, "corrupt_share_min");
}

typedef struct heard {
  int calls;
  coterie_client* client;
} heard;

static void hear(void* context, const coterie_refusal* refusal) {
  heard* h = context;
  ++h->calls;
  CHECK(refusal->struct_size == sizeof *refusal);
  CHECK(strcmp(refusal->reason, "security_level") == 0);
  CHECK_CONTAINS(refusal->text, "promises security level masked");
  CHECK(strcmp(refusal->job, "masked") == 0);
  CHECK(refusal->round == 5 && refusal->attempt == 2);
  CHECK(refusal->security_level == COTERIE_SECURITY_MASKED && refusal->cohort_min == 7);
  CHECK(refusal->epsilon_round == 0 && refusal->delta == 0);
  CHECK(refusal->epsilon_spent == 1.5 && refusal->delta_spent == 0);
  CHECK_CONTAINS(coterie_client_last_error(h->client), "");  // may be asked here
}

static void copy_refusing_state(void) {
  char from[1024], to[1024];
  static unsigned char bytes[64 * 1024];
  snprintf(from, sizeof from, "%s", sample("refusing/session.state"));
  snprintf(to, sizeof to, "%s/session.state", case_directory());
  FILE* source = fopen(from, "rb");
  FILE* target = fopen(to, "wb");
  CHECK(source != NULL && target != NULL);
  if (source == NULL || target == NULL) return;
  const size_t count = fread(bytes, 1, sizeof bytes, source);
  CHECK(count > 0 && fwrite(bytes, 1, count, target) == count);
  fclose(source);
  fclose(target);
}

void test_refusal(void) {
  char error[512];
  const coterie_dataset dataset = good_dataset();
  coterie_policy policy = {.struct_size = sizeof policy, .security_level_min = COTERIE_SECURITY_ACTIVE};
  coterie_options options = good_options();
  heard h = {0};
  options.policy = &policy;
  options.on_refused = &hear;
  options.refused_context = &h;
  // Opened once, so that the directory is there; then a life in the middle of a session is laid into it.
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  coterie_client_close(&client);
  copy_refusing_state();
  CHECK_STATUS(coterie_client_open(&options, &dataset, &h.client, error, sizeof error), COTERIE_OK);
  CHECK(h.calls == 0);  // only inside step and run
  CHECK_STATUS(coterie_client_step(h.client, NULL), COTERIE_OK);
  CHECK(h.calls == 1);
  CHECK_STATUS(coterie_client_step(h.client, NULL), COTERIE_OK);
  CHECK(h.calls == 1);
  coterie_client_close(&h.client);

  // An app need not listen.
  copy_refusing_state();
  options.on_refused = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_client_step(client, NULL), COTERIE_OK);
  CHECK_CONTAINS(coterie_client_last_error(client), "");
  coterie_client_close(&client);
}
