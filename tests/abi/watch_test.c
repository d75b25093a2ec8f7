// A training that is watched: what a check finds, what a watch may hold, and what is refused.
#include <stdint.h>
#include <stdlib.h>

#include "tests/abi/check.h"

static coterie_trainer* open_trainer(const coterie_train_options* options, coterie_dataset* images) {
  char error[512] = "";
  coterie_model* model = open_sample("mlp.cotf");
  coterie_trainer* trainer = NULL;
  *images = (coterie_dataset){.struct_size = sizeof *images};
  CHECK_STATUS(coterie_dataset_open(sample("images.cotf"), images, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_open(model, options, images, &trainer, error, sizeof error), COTERIE_OK);
  coterie_model_close(&model);
  return trainer;
}

// A watch file of the case's own. Good until the next call.
static const char* watch_file(const char* text) {
  static char path[512];
  new_case_directory();
  snprintf(path, sizeof path, "%s.json", case_directory());
  FILE* const file = fopen(path, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
  return path;
}

static coterie_watch_summary summary_of(coterie_trainer* trainer) {
  coterie_watch_summary summary = {.struct_size = sizeof summary};
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, &summary), COTERIE_OK);
  return summary;
}

void test_watch(void) {
  coterie_dataset images;
  // A rate of 3 moves each weight by more than it was, and the loss does not fall.
  const coterie_train_options options = {
      .struct_size = sizeof options, .learning_rate = 3, .batch_size = 12, .epochs = 8, .seed = 3};
  coterie_trainer* trainer = open_trainer(&options, &images);
  CHECK_STATUS(coterie_trainer_watch(trainer, watch_file("{\"every\": 2, \"hits_max\": 3, \"checks\": ["
                                                         "{\"check\": \"weight_change_too_large\"}]}")),
               COTERIE_OK);
  coterie_watch_summary summary = summary_of(trainer);
  CHECK(summary.looks == 0 && summary.hit_count == 0 && summary.left_out == 0 && summary.bytes_max > 0);
  CHECK_STATUS(coterie_trainer_run(trainer, 5, NULL, NULL), COTERIE_OK);
  summary = summary_of(trainer);
  CHECK(summary.looks == 3);  // the steps 0, 2 and 4
  CHECK(summary.hit_count == 3 && summary.left_out > 0);
  coterie_watch_hit hit = {.struct_size = sizeof hit};
  CHECK_STATUS(coterie_trainer_watch_hit(trainer, 0, &hit), COTERIE_OK);
  CHECK(strcmp(hit.check, "weight_change_too_large") == 0 && strcmp(hit.setting, "ratio_above") == 0);
  CHECK(strlen(hit.layer) > 0 && strlen(hit.tensor) > 0 && strcmp(hit.comparison, ">") == 0);
  CHECK(hit.first_step == 0 && hit.last_step <= 4 && hit.looks >= 1 && hit.looks <= 3);
  CHECK(hit.value > hit.threshold && hit.threshold == 0.1);
  CHECK_STATUS(coterie_trainer_watch_hit(trainer, 3, &hit), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "there are 3");

  // Another one takes its place; a checkpoint's restoring begins it anew; NULL ends it.
  CHECK_STATUS(coterie_trainer_watch(trainer, "recommended"), COTERIE_OK);
  CHECK(summary_of(trainer).hit_count == 0);
  char checkpoint[512];
  new_case_directory();
  snprintf(checkpoint, sizeof checkpoint, "%s", case_directory());
  CHECK_STATUS(coterie_trainer_save_checkpoint(trainer, checkpoint), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_watch(trainer, watch_file("{\"every\": 1, \"checks\": ["
                                                         "{\"check\": \"weight_change_too_large\", "
                                                         "\"ratio_above\": 1e-5}]}")),
               COTERIE_OK);
  CHECK_STATUS(coterie_trainer_run(trainer, 1, NULL, NULL), COTERIE_OK);
  CHECK(summary_of(trainer).looks == 1 && summary_of(trainer).hit_count > 0);
  CHECK_STATUS(coterie_trainer_restore_checkpoint(trainer, checkpoint), COTERIE_OK);
  CHECK(summary_of(trainer).looks == 0 && summary_of(trainer).hit_count == 0);
  CHECK_STATUS(coterie_trainer_run(trainer, 1, NULL, NULL), COTERIE_OK);
  CHECK(summary_of(trainer).looks == 1);
  coterie_watch_hit none = {.struct_size = sizeof none};
  CHECK_STATUS(coterie_trainer_watch(trainer, NULL), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_watch_hit(trainer, 0, &none), COTERIE_CONFLICT);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "nothing is watched");
  coterie_trainer_close(&trainer);
  coterie_dataset_close(&images);
}

static void expect_watch_error(coterie_trainer* trainer, const char* text, coterie_status status, const char* words) {
  CHECK_STATUS(coterie_trainer_watch(trainer, watch_file(text)), status);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), words);
}

void test_watch_misuse(void) {
  coterie_dataset images;
  coterie_train_options options = {.struct_size = sizeof options, .batch_size = 12};
  coterie_trainer* trainer = open_trainer(&options, &images);
  coterie_watch_summary summary = {.struct_size = sizeof summary};
  CHECK_STATUS(coterie_trainer_watch(NULL, "recommended"), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, &summary), COTERIE_CONFLICT);
  CHECK_STATUS(coterie_trainer_watch(trainer, "recomended"), COTERIE_NOT_FOUND);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "did you mean `recommended`?");
  expect_watch_error(trainer, "{\"checks\"", COTERIE_MALFORMED, "byte");
  expect_watch_error(trainer, "{\"checks\": [{\"check\": \"dead_rellu\"}]}", COTERIE_INVALID_ARGUMENT,
                     "did you mean `dead_relu`?");
  expect_watch_error(trainer, "{\"hits_max\": 10001, \"checks\": [{\"check\": \"weight_overflow\"}]}",
                     COTERIE_INVALID_ARGUMENT, "/hits_max");
  expect_watch_error(trainer, "{\"checks\": [{\"check\": \"weight_overflow\", \"tensors\": \"conv*\"}]}",
                     COTERIE_INVALID_ARGUMENT, "matches nothing of the model");
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, &summary), COTERIE_CONFLICT);  // none of them has begun
  CHECK_STATUS(coterie_trainer_watch(trainer, "recommended"), COTERIE_OK);
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_trainer_watch_hit(trainer, 0, NULL), COTERIE_INVALID_ARGUMENT);
  summary.struct_size = sizeof summary - 1;
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, &summary), COTERIE_INVALID_ARGUMENT);
  summary.struct_size = sizeof summary;
  CHECK_STATUS(coterie_trainer_watch_summary(trainer, &summary), COTERIE_OK);
  coterie_train_memory memory = {.struct_size = sizeof memory};
  CHECK_STATUS(coterie_trainer_memory(trainer, &memory), COTERIE_OK);
  coterie_trainer_close(&trainer);
  coterie_dataset_close(&images);

  // The limit of the training's memory is that of the watch, too: to the byte.
  options.memory_bytes_max = memory.arena_bytes + summary.bytes_max;
  trainer = open_trainer(&options, &images);
  CHECK_STATUS(coterie_trainer_watch(trainer, "recommended"), COTERIE_OK);
  coterie_trainer_close(&trainer);
  coterie_dataset_close(&images);
  options.memory_bytes_max -= 1;
  trainer = open_trainer(&options, &images);
  CHECK_STATUS(coterie_trainer_watch(trainer, "recommended"), COTERIE_TOO_LARGE);
  CHECK_CONTAINS(coterie_trainer_last_error(trainer), "the watch may come to hold");
  CHECK_STATUS(coterie_trainer_run(trainer, 1, NULL, NULL), COTERIE_OK);  // and the training goes on
  coterie_trainer_close(&trainer);
  coterie_dataset_close(&images);
}
