// The smallest program that trains, in C++: load a model, 10 steps, evaluate, save.
#include <coterie_train.hpp>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "Usage: train_cc MODEL DATA OUTPUT\n");
    return 2;
  }
  try {
    const coterie::Model model(argv[1]);
    const coterie::Dataset data = coterie::Dataset::open(argv[2]);
    const coterie::TrainOptions options{.optimizer = "adam", .learning_rate = 0.01f, .epochs = 100, .steps_max = 10};

    coterie::Trainer trainer(model, options, data);
    while (!trainer.finished()) {
      const coterie_train_progress progress = trainer.step();
      std::printf("step %d: loss %.4f\n", static_cast<int>(progress.steps), progress.step_loss);
    }

    const coterie::Model trained = trainer.model();
    const coterie_evaluation evaluation = trained.evaluate(data, options);
    trained.save(argv[3]);
    std::printf("loss %.4f, accuracy %.3f, saved as %s\n", evaluation.loss_mean, evaluation.accuracy, argv[3]);
  } catch (const coterie::Error& error) {
    std::fprintf(stderr, "train_cc: %s\n", error.what());
    return 1;
  }
}
