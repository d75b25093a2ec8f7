// LeNet-5 from scratch on real digits: what five epochs reach on images it has not seen. Skipped where the images are
// not (../shared beside the tree).
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tools/data/load.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

constexpr uint64_t kTraining = 8000, kHeldOut = 2000;  // 0.9845 of them, in 1.5 s on one core with AVX-512

DatasetSource images_of(const ExampleTable& table, uint64_t first, uint64_t count) {
  std::vector<uint32_t> chosen;
  for (uint64_t i = first; i < first + count; ++i) chosen.push_back(static_cast<uint32_t>(i));
  return *DatasetSource::load(dataset_file(table, chosen));
}

TEST(LeNet5, ReachesNinetySevenPercentInFiveEpochs) {
  const std::string folder = source_dir() + "/../shared/data/mnist-t10k";
  if (!os::exists(folder)) GTEST_SKIP() << "needs the 10,000 test images of MNIST in " << folder;
  const Result<TrainingData> data = load_data("mnist:" + folder);
  ASSERT_OK(data);
  ASSERT_EQ(data->examples.size(), kTraining + kHeldOut);
  DatasetSource training = images_of(data->examples, 0, kTraining);
  DatasetSource held_out = images_of(data->examples, kTraining, kHeldOut);
  const Model model = *Model::load(*make_model(ModelKind::lenet5, {28, 28, 1}, 10, /*seed=*/1));
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.002f};
  options.schedule = *parse_schedule("cosine");
  options.batch_size = 32;
  options.epochs = 5;
  Result<Trainer> trainer = Trainer::create(model, options, training);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  Result<Evaluator> evaluator = Evaluator::create(model, options.loss, 100);
  ASSERT_OK(evaluator);
  const Result<Evaluation> judged = evaluator->run(trainer->parameters(), held_out);
  ASSERT_OK(judged);
  RecordProperty("accuracy", std::to_string(judged->accuracy));
  EXPECT_GE(judged->accuracy, 0.97);
}

}  // namespace
}  // namespace coterie::test
