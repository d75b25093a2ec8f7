// A build without what a list may leave out: this program has sources of its own, compiled so (see CMakeLists.txt).
#include <gtest/gtest.h>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/train_options.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

void expect_refused(const TrainOptions& options, const std::string& name) {
  SCOPED_TRACE(name);
  EXPECT_ERROR(check_options(options), ErrorCode::invalid_argument, "this build was made from a list with -" + name);
}

TEST(LeftOut, TrainingThatAsksForItIsRefusedByName) {
  EXPECT_OK(check_options({}));
  TrainOptions heads;
  heads.loss.heads = {{.output = "y", .loss = Loss::softmax_cross_entropy}};
  expect_refused(heads, "heads");
  expect_refused({.channels = {{.pattern = "*"}}}, "channels");
  expect_refused({.threads = 2}, "threads");
  expect_refused({.storage = Storage::bfloat16}, "bf16");
  expect_refused({.planned_bytes_max = 1 << 20}, "memory_limit");
  expect_refused({.early_stopping = EarlyStopping{.validation_share = 0.1f}}, "early_stopping");
  expect_refused({.qat = QuantisedTraining{}}, "qat");
}

TEST(LeftOut, AnEvaluationThatAsksForItIsRefusedByName) {
  ModelBuilder build("mlp", {4}, 1);
  const Result<Bytes> file = build.finish(build.dense(build.input(), 2));
  ASSERT_OK(file);
  const Result<Model> model = Model::load(*file);
  ASSERT_OK(model);
  LossSettings loss;
  EXPECT_OK(Evaluator::create(*model, loss, 4));
  EXPECT_ERROR(Evaluator::create(*model, loss, 4, limits::kArenaBytesMax, 2), ErrorCode::invalid_argument, "-threads");
  loss.heads = {{.output = model->graph().tensors[model->graph().output].name, .loss = loss.kind}};
  EXPECT_ERROR(Evaluator::create(*model, loss, 4), ErrorCode::invalid_argument, "-heads");
}

}  // namespace
}  // namespace coterie::test
