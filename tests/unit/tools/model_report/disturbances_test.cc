// What models do where inputs are noisy or shifted, for models of which it is known.
#include <gtest/gtest.h>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/model_report/disturbances.h"

namespace coterie::test {
namespace {

const LossSettings kLabels = {.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels};

// One bright pixel, at a place of its own; its label says whether it is at the place that the model looks at.
class Dots final : public ExampleSource {
 public:
  uint64_t size() const override { return 40; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::fill(to.features(), 0.0f);
    const bool is_there = index % 2 == 0;
    to.features()[is_there ? 3 * 8 + 3 : 6 * 8 + 6] = 1;
    to.labels()[0] = is_there ? 0 : 1;
    return {};
  }
};

// Output 0 is 10 where the pixel is bright, else 0; output 1 is 5.
Model looking_at(size_t pixel) {
  ModelBuilder build("look", {8, 8, 1}, 1);
  std::vector<float> weights(128);
  weights[2 * pixel] = 10;
  return load_or_die(
      build.finish(build.op(OpKind::dense, {build.flatten(build.input()), build.parameter("w", {64, 2}, weights),
                                            build.parameter("b", {2}, {0, 5})})));
}

TEST(Disturbances, AShiftMovesWhatTheModelLooksAt) {
  Dots dots;
  const Result<std::vector<Disturbance>> made = disturbed(looking_at(3 * 8 + 3), kLabels, dots, 1, 1);
  ASSERT_OK(made);
  ASSERT_EQ(made->size(), 7u);
  EXPECT_EQ((*made)[4].what, "shifted by 1 pixel");
  EXPECT_DOUBLE_EQ((*made)[4].evaluation.accuracy, 0.5) << "the dot is gone from there";
  EXPECT_DOUBLE_EQ((*made)[5].evaluation.accuracy, 0.5);
  EXPECT_EQ((*made)[6].what, "shifted by 3 pixels");
  EXPECT_EQ((*made)[0].what, "noise of 5 % of the range");
  EXPECT_DOUBLE_EQ((*made)[0].evaluation.accuracy, 1);
  EXPECT_LT((*made)[3].evaluation.accuracy, 1) << "with 40 % some pass the threshold";
  EXPECT_GT((*made)[3].evaluation.loss_mean, (*made)[0].evaluation.loss_mean);
}

// A pixel at the edge is repeated: what the model looks at stays in one of the four directions.
TEST(Disturbances, EdgesAreRepeated) {
  class Left final : public ExampleSource {
   public:
    uint64_t size() const override { return 1; }
    Status read(uint64_t, const Example& to) override {
      std::ranges::fill(to.features(), 0.0f);
      for (size_t y = 0; y < 8; ++y) to.features()[y * 8] = 1;
      to.labels()[0] = 0;
      return {};
    }
  } left;
  const Result<std::vector<Disturbance>> made = disturbed(looking_at(4 * 8), kLabels, left, 1, 1);
  ASSERT_OK(made);
  EXPECT_DOUBLE_EQ((*made)[4].evaluation.accuracy, 0.75) << "to the left alone it goes";
}

TEST(Disturbances, TheSameSeedGivesTheSame) {
  const Model model = looking_at(3 * 8 + 3);
  Dots dots;
  EXPECT_EQ((*disturbed(model, kLabels, dots, 1, 1))[3].evaluation.loss_mean,
            (*disturbed(model, kLabels, dots, 3, 1))[3].evaluation.loss_mean);
  EXPECT_NE((*disturbed(model, kLabels, dots, 1, 1))[3].evaluation.loss_mean,
            (*disturbed(model, kLabels, dots, 1, 2))[3].evaluation.loss_mean);
}

}  // namespace
}  // namespace coterie::test
