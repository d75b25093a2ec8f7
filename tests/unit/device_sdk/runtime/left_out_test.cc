// A build without what a list may leave out: this program has sources of its own, compiled so (see CMakeLists.txt).
#include <gtest/gtest.h>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/train_options.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/runtime/training_parts.h"
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
  expect_refused({.loss_scaling = {.start = 1024}}, "loss_scaling");
  expect_refused({.loss_scaling = {.start = -1}}, "loss_scaling");
  expect_refused({.qat = QuantisedTraining{}}, "qat");
}

TEST(LeftOut, AnEvaluationThatAsksForItIsRefusedByName) {
  ModelBuilder build("mlp", {4}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 2)));
  LossSettings loss;
  EXPECT_OK(Evaluator::create(model, loss, 4));
  EXPECT_ERROR(Evaluator::create(model, loss, 4, limits::kArenaBytesMax, 2), ErrorCode::invalid_argument, "-threads");
  loss.heads = {{.output = model.graph().tensors[model.graph().output].name, .loss = loss.kind}};
  EXPECT_ERROR(Evaluator::create(model, loss, 4), ErrorCode::invalid_argument, "-heads");
}

// Asked for anything, they fail the test: nobody may begin a training that takes them.
struct UnaskedParts final : TrainingParts {
  Status begin(const Model&, const TrainOptions&) override {
    ADD_FAILURE();
    return {};
  }
  Result<const ExternalParts*> parts_for(uint32_t) override {
    ADD_FAILURE();
    return nullptr;
  }
  bool has_given_up() override { return false; }
};

TEST(LeftOut, WhatADelegateComputesIsRefusedByName) {
  ModelBuilder build("mlp", {4}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 2)));
  const ExternalParts parts;
  EXPECT_OK(Predictor::create(model, 1));
  EXPECT_ERROR(Predictor::create(model, 1, limits::kArenaBytesMax, 1, &parts), ErrorCode::invalid_argument,
               "-delegates");
  Examples examples(8, 4, 2);
  UnaskedParts asked;
  EXPECT_OK(Trainer::create(model, TrainOptions(), examples));
  EXPECT_ERROR(Trainer::create(model, TrainOptions(), examples, asked), ErrorCode::invalid_argument, "-delegates");
}

}  // namespace
}  // namespace coterie::test
