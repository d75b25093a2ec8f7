#include "device_sdk/runtime/loss_scaling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "device_sdk/runtime/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

TEST(LossScaling, IsReadFromText) {
  EXPECT_EQ(*parse_loss_scaling("dynamic"), (LossScaling{65536, 2000}));
  EXPECT_EQ(*parse_loss_scaling("1024"), (LossScaling{1024, 0}));
  for (const char* text : {"", "0", "-2", "3", "0.5", "33554432", "inf", "nan", "2x", "Dynamic"}) {
    const Result<LossScaling> parsed = parse_loss_scaling(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr("power of two")) << text;
  }
}

TEST(LossScaling, DoublesAfterGoodStepsAndHalvesAfterABadOne) {
  const LossScaling scaling{8, 3};
  LossScaleState state{8, 0};
  for (int i = 0; i < 2; ++i) observe_gradient(scaling, true, state);
  EXPECT_EQ(state, (LossScaleState{8, 2}));
  observe_gradient(scaling, true, state);
  EXPECT_EQ(state, (LossScaleState{16, 0}));
  observe_gradient(scaling, true, state);
  observe_gradient(scaling, false, state);
  EXPECT_EQ(state, (LossScaleState{8, 0}));
  for (int i = 0; i < 9; ++i) observe_gradient(scaling, false, state);
  EXPECT_EQ(state.scale, 1);
  for (int i = 0; i < 200; ++i) observe_gradient(scaling, true, state);
  EXPECT_EQ(state.scale, kLossScaleMax);
}

TEST(LossScaling, SeesEveryKindOfOverflow) {
  std::vector<float> values(100, std::numeric_limits<float>::max());
  EXPECT_TRUE(all_finite(values));
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    values[77] = static_cast<float>(bad);
    EXPECT_FALSE(all_finite(values));
  }
  EXPECT_TRUE(all_finite({}));
}

constexpr size_t kFeatures = 4;

// One example in eight is so large that its scaled gradient overflows, though its loss does not.
class SomeOverflow : public Examples {
 public:
  SomeOverflow() : Examples(8, kFeatures, 1) {
    for (size_t i = 0; i < kFeatures; ++i) set_feature(3, i, 1e18f);
  }
};

Model normed_sum() {
  ModelBuilder build("sum", {kFeatures}, 2);
  const TensorId normed = build.dense(build.batch_norm(build.input()), 1);
  return load_or_die(build.finish(build.add(build.dense(build.input(), 1), normed)));
}

TrainOptions options_with(const LossScaling& scaling) {
  TrainOptions options;
  options.batch_size = 2;
  options.epochs = 4;
  options.loss.kind = Loss::mean_squared_error;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.01f};
  options.schedule = parse_schedule("step:gamma=0.9,period=1").value();
  options.loss_scaling = scaling;
  return options;
}

TEST(LossScaling, ByAPowerOfTwoChangesNoBit) {
  const Model model = small_cnn();
  std::vector<float> expected;
  for (const float scale : {0.0f, 1024.0f}) {
    Examples examples(24, 64, 10);
    TrainOptions options;
    options.batch_size = 8;
    options.epochs = 2;
    options.clip_norm = 1e6f;  // keeps the gradients without a scale, too
    options.loss_scaling = {scale, 0};
    Result<Trainer> trainer = Trainer::create(model, options, examples);
    ASSERT_OK(trainer);
    while (!trainer->finished()) ASSERT_OK(trainer->step());
    if (expected.empty()) expected.assign(trainer->parameters().begin(), trainer->parameters().end());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), trainer->parameters().begin()));
    EXPECT_EQ(trainer->summary().skipped, 0u);
  }
}

TEST(LossScaling, SkipsAStepAsIfItHadNotBeen) {
  SomeOverflow examples;
  Result<Trainer> trainer = Trainer::create(normed_sum(), options_with({0x1p16f, 2000}), examples);
  ASSERT_OK(trainer);
  uint64_t skipped = 0, moved = 0;
  while (!trainer->finished()) {
    const std::vector<float> before(trainer->parameters().begin(), trainer->parameters().end());
    const double rate = trainer->learning_rate();
    ASSERT_OK(trainer->step());
    const bool is_same = std::equal(before.begin(), before.end(), trainer->parameters().begin());
    const bool was_skipped = trainer->summary().skipped > skipped;
    skipped = trainer->summary().skipped;
    EXPECT_EQ(is_same, was_skipped);  // weights and running statistics
    EXPECT_EQ(trainer->learning_rate() == rate, was_skipped);
    moved += !is_same;
  }
  EXPECT_EQ(skipped, 4u);  // once an epoch
  EXPECT_EQ(moved, 12u);
  EXPECT_EQ(trainer->summary().steps, 16u);
  EXPECT_EQ(trainer->summary().examples, 32u);
}

TEST(LossScaling, GoesOnFromACheckpointToTheSameBits) {
  const TemporaryDirectory directory;
  const std::string path = directory / "ck";
  const TrainOptions options = options_with({0x1p16f, 3});
  SomeOverflow examples;
  Result<Trainer> whole = Trainer::create(normed_sum(), options, examples);
  ASSERT_OK(whole);
  while (whole->summary().skipped == 0) ASSERT_OK(whole->step());
  ASSERT_OK(whole->save_checkpoint(path));
  Result<Trainer> resumed = Trainer::create(normed_sum(), options, examples);
  ASSERT_OK(resumed);
  ASSERT_OK(resumed->restore_checkpoint(path));
  EXPECT_EQ(resumed->summary(), whole->summary());
  while (!whole->finished()) {
    ASSERT_OK(whole->step());
    ASSERT_OK(resumed->step());
    EXPECT_EQ(resumed->learning_rate(), whole->learning_rate());
  }
  EXPECT_EQ(resumed->summary(), whole->summary());
  EXPECT_TRUE(std::equal(whole->parameters().begin(), whole->parameters().end(), resumed->parameters().begin()));

  Result<Trainer> other = Trainer::create(normed_sum(), options_with({}), examples);
  ASSERT_OK(other);
  EXPECT_ERROR(other->restore_checkpoint(path), ErrorCode::conflict, "not the same: loss_scale");
}

TEST(LossScaling, RefusesAScaleThatRounds) {
  SomeOverflow examples;
  for (const float scale : {-1.0f, 3.0f, 0.25f, std::nanf("")}) {
    const Result<Trainer> trainer = Trainer::create(normed_sum(), options_with({scale, 0}), examples);
    EXPECT_ERROR(trainer, ErrorCode::invalid_argument, "loss scale") << scale;
  }
}

}  // namespace
}  // namespace coterie::test
