// The smallest program that trains: what an app pays for the engine. tools/dev/footprint.sh weighs it.
#include <cstdio>
#include <string>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 30;

Result<Model> read_model(const char* path) {
  COT_ASSIGN(Bytes file, os::read_file(path, kFileBytesMax));
  return Model::load(std::move(file));
}

// Whether this build has what the model is made of.
Status load(const char* path) {
  COT_TRY(read_model(path));
  return {};
}

Status train(const char* model_path, const char* dataset_path, const char* out_path) {
  COT_ASSIGN(const Model model, read_model(model_path));
  COT_ASSIGN(DatasetSource examples, DatasetSource::open(dataset_path));
  const TrainingSettings settings{.batch_size = 8, .local_epochs = 1, .optimizer = {.learning_rate = 0.01f}};
  COT_ASSIGN(Trainer trainer, Trainer::create(model, settings, examples, 1));
  const std::string checkpoint = std::string(out_path) + ".checkpoint";
  while (!trainer.finished()) {
    COT_TRY(trainer.step());
    COT_TRY(trainer.save_checkpoint(checkpoint));
    COT_TRY(trainer.restore_checkpoint(checkpoint));
  }
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, settings.loss, settings.batch_size));
  COT_ASSIGN(const Evaluation evaluation, evaluator.run(trainer.parameters(), examples));
  std::printf("loss %.4f, accuracy %.3f\n", evaluation.loss_mean, evaluation.accuracy);
  return os::write_file_atomically(out_path, model.file_with(trainer.parameters()));
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "Usage: coterie-footprint MODEL [DATA_SET TRAINED_MODEL]\n");
    return 2;
  }
  const coterie::Status done = argc == 2 ? coterie::load(argv[1]) : coterie::train(argv[1], argv[2], argv[3]);
  if (!done) std::fprintf(stderr, "coterie-footprint: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
