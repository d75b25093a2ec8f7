// The smallest program that trains: load a model, 10 steps, evaluate, save.
#include <coterie_train.h>
#include <stdio.h>

static int failed(const char* what, coterie_status status, const char* text) {
  fprintf(stderr, "train_c: %s: %s: %s\n", what, coterie_status_name(status), text);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "Usage: train_c MODEL DATA OUTPUT\n");
    return 2;
  }
  char error[512] = "";
  coterie_model *model = NULL, *trained = NULL;
  coterie_dataset data = {.struct_size = sizeof data};
  coterie_trainer* trainer = NULL;
  const coterie_train_options options = {
      .struct_size = sizeof options, .optimizer = "adam", .learning_rate = 0.01f, .epochs = 100, .steps_max = 10};
  coterie_evaluation evaluation = {.struct_size = sizeof evaluation};

  coterie_status status = coterie_model_open(argv[1], &model, error, sizeof error);
  if (status == COTERIE_OK) status = coterie_dataset_open(argv[2], &data, error, sizeof error);
  if (status == COTERIE_OK) status = coterie_trainer_open(model, &options, &data, &trainer, error, sizeof error);
  if (status != COTERIE_OK) return failed("opening", status, error);

  coterie_train_progress progress = {.struct_size = sizeof progress};
  while (!progress.finished && status == COTERIE_OK) {
    status = coterie_trainer_step(trainer, &progress);
    if (status == COTERIE_OK) printf("step %d: loss %.4f\n", (int)progress.steps, progress.step_loss);
  }
  if (status == COTERIE_OK) status = coterie_trainer_model(trainer, &trained);
  if (status != COTERIE_OK) return failed("training", status, coterie_trainer_last_error(trainer));

  status = coterie_model_evaluate(trained, &data, &options, &evaluation);
  if (status == COTERIE_OK) status = coterie_model_save(trained, argv[3]);
  if (status != COTERIE_OK) return failed("the trained model", status, coterie_model_last_error(trained));
  printf("loss %.4f, accuracy %.3f, saved as %s\n", evaluation.loss_mean, evaluation.accuracy, argv[3]);

  coterie_model_close(&trained);
  coterie_trainer_close(&trainer);
  coterie_dataset_close(&data);
  coterie_model_close(&model);
  return 0;
}
