// coterie model delegate, with delegates of the tests in the place of modules.
#include "tools/cli/model_delegate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/device_sdk/runtime/delegate_fixtures.h"
#include "tests/unit/device_sdk/runtime/delegate_training_fixtures.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;
using testing::Not;

ModelDelegateOptions of_training() {
  return {.model = "net.cotf", .to = "reference", .batch_size = 4, .steps = 3, .trains = true};
}

CommandOutcome delegated(const ModelDelegateOptions& options, const Model& model, Delegate& delegate) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitCode code = delegate_opened_model(options, model, delegate);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(ModelDelegate, ShowsWhatItPredicts) {
  const Model model = small_cnn();
  ReferenceDelegate delegate(model);
  ModelDelegateOptions options = of_training();
  options.trains = false;
  const CommandOutcome done = delegated(options, model, delegate);
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr("reference 1 computes 9 of 9 ops, 100.0 % of the operations\n"));
  EXPECT_THAT(done.out, HasSubstr("\na batch of 4: "));
  EXPECT_THAT(done.out, Not(HasSubstr("gradients")));
}

// Batches 1, 2 and 4 are held against our kernels.
TEST(ModelDelegate, ShowsWhatItTrainsAndWhatWasVerified) {
  const Model model = small_cnn();
  ReferenceTrainer delegate(model);
  const CommandOutcome done = delegated(of_training(), model, delegate);
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr("reference 1 computes 9 of 9 ops, 100.0 % of the operations\n"));
  EXPECT_THAT(done.out, HasSubstr("part 1: differs by 0, bound "));
  EXPECT_THAT(done.out, HasSubstr("\n  gradients by 0 in norm, bound "));
  EXPECT_THAT(done.out, HasSubstr("\n  checked in 3 of 4 runs\n"));
  EXPECT_THAT(done.out, HasSubstr("\na step of 4: "));
  EXPECT_EQ(delegate.backwards, 4);
}

TEST(ModelDelegate, SaysWhyOpsTrainWithOurKernels) {
  ModelBuilder build("dropped", {6}, 9);
  const TensorId hidden = build.relu(build.dense(build.input(), 8));
  const TensorId dropped = build.op(OpKind::dropout, {hidden}, DropoutAttributes{.rate = 0.25f});
  const Model model = load_or_die(build.finish(build.dense(dropped, 3)));
  ReferenceTrainer delegate(model);
  delegate.refused_kinds = {OpKind::relu};
  ModelDelegateOptions options = of_training();
  options.as_json = true;
  const CommandOutcome done = delegated(options, model, delegate);
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  const nlohmann::json json = nlohmann::json::parse(done.out, nullptr, false);
  EXPECT_EQ(json["trains"], true);
  EXPECT_EQ(json["parts"][0]["checks"], 3);
  EXPECT_TRUE(json["parts"][0].contains("gradients"));
  std::string reasons;
  for (const nlohmann::json& op : json["ops"]) reasons += op.value("reason", "-") + "\n";
  EXPECT_EQ(reasons, "-\nthe test refuses its kind\nit drops units at random in a training\n-\n");
}

// Gradients that differ in one batch may be a jump; the command goes on until three have decided.
TEST(ModelDelegate, FailsWhereGradientsAreWrongHoweverFewTheSteps) {
  const Model model = small_cnn();
  ReferenceTrainer delegate(model, TrainingDeed::scales_gradient);
  ModelDelegateOptions options = of_training();
  options.steps = 1;
  const CommandOutcome done = delegated(options, model, delegate);
  EXPECT_EQ(done.code, ExitCode::failure);
  EXPECT_THAT(done.out, HasSubstr("computes 0 of 9 ops"));
  EXPECT_THAT(done.out, HasSubstr("\npart 1: refused: in backward: "));
  EXPECT_THAT(done.out, HasSubstr("rounding explains at most"));
  EXPECT_THAT(done.out, HasSubstr("\n(1) its part was refused\n"));
  EXPECT_EQ(delegate.backwards, 3);
}

TEST(ModelDelegate, FailsWhereItThrowsInBackward) {
  const Model model = small_cnn();
  ReferenceTrainer delegate(model, TrainingDeed::throws_in_backward);
  ModelDelegateOptions options = of_training();
  options.as_json = true;
  const CommandOutcome done = delegated(options, model, delegate);
  EXPECT_EQ(done.code, ExitCode::failure);
  const nlohmann::json json = nlohmann::json::parse(done.out, nullptr, false);
  EXPECT_THAT(json["parts"][0].value("refusal", ""), HasSubstr("in backward: it has thrown: the test's bad day"));
  EXPECT_EQ(json["ops"][0]["reason"], "its part was refused");
  EXPECT_EQ(json["delegated_flops"], 0);
}

TEST(ModelDelegate, GivesNoTrainingToWhatOnlyPredicts) {
  const Model model = small_cnn();
  ReferenceDelegate delegate(model);
  const CommandOutcome done = delegated(of_training(), model, delegate);
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr("computes 0 of 9 ops"));
  EXPECT_THAT(done.out, HasSubstr("\n(1) reference computes no backward\n"));
}

TEST(ModelDelegate, NamesALossThatDoesNotFit) {
  const Model model = small_cnn();
  ReferenceTrainer delegate(model);
  ModelDelegateOptions options = of_training();
  options.loss = Loss::triplet_margin;
  const CommandOutcome done = delegated(options, model, delegate);
  EXPECT_EQ(done.code, ExitCode::usage);
  EXPECT_THAT(done.err, HasSubstr("triplet_margin"));
  EXPECT_EQ(run_command({"model", "delegate", "net.cotf", "--to", "onednn", "--loss", "huber"}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
