// As little of a test framework as C11 needs: CHECK, and a list of cases that main.c runs.
#pragma once

#include <coterie_train.h>
#include <stdio.h>
#include <string.h>

extern int check_failures;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++check_failures;                                                       \
    }                                                                         \
  } while (0)

#define CHECK_STATUS(expression, expected)                                               \
  do {                                                                                   \
    const coterie_status check_status = (expression);                                    \
    if (check_status != (expected)) {                                                    \
      fprintf(stderr, "%s:%d: %s is %s, expected %s\n", __FILE__, __LINE__, #expression, \
              coterie_status_name(check_status), coterie_status_name(expected));         \
      ++check_failures;                                                                  \
    }                                                                                    \
  } while (0)

#define CHECK_CONTAINS(text, words)                                                  \
  do {                                                                               \
    const char* const check_text = (text);                                           \
    if (check_text == NULL || strstr(check_text, (words)) == NULL) {                 \
      fprintf(stderr, "%s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, \
              check_text == NULL ? "NULL" : check_text, (words));                    \
      ++check_failures;                                                              \
    }                                                                                \
  } while (0)

// The state directory of good_options(); absent at the start of a case and after new_case_directory().
const char* case_directory(void);
void new_case_directory(void);

// A file that tests/support/write_samples.cc has written. Good until the second next call.
const char* sample(const char* name);
coterie_model* open_sample(const char* name);

// What a case changes one thing of: a client over a transport that never gets an answer, and two examples.
coterie_options good_options(void);
coterie_dataset good_dataset(void);
coterie_transport dead_transport(void);

void test_authority(void);
void test_conditions(void);
void test_holds(void);
void test_requirements(void);
void test_handles(void);
void test_order_of_calls(void);
void test_options(void);
void test_policy(void);
void test_refusal(void);
void test_struct_sizes(void);
void test_error_text(void);
void test_dataset_file(void);
void test_names(void);
void test_transport_answers(void);
void test_transport_misuse(void);
void test_run(void);
void test_log(void);
void test_model(void);
void test_model_predicts(void);
void test_model_in_int8(void);
void test_model_misuse(void);
void test_parameters(void);
void test_training(void);
void test_heads(void);
void test_checkpoints(void);
void test_lora(void);
void test_fine_tuning(void);
void test_gated_fine_tuning(void);
void test_encrypted_checkpoints(void);
void test_training_within_memory(void);
void test_runs_of_training(void);
void test_watch(void);
void test_watch_misuse(void);
void test_train_handles(void);
void test_train_options(void);
void test_train_struct_sizes(void);
void test_train_data(void);
void test_pushed_examples(void);
void test_examples_of_any_model(void);
void test_read_example(void);
