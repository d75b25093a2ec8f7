#include "tools/model/measure.h"

#include <gmock/gmock.h>

#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

// One number in, the same number out.
Model echo() {
  ModelBuilder build("echo", {1}, 1);
  const TensorId w = build.parameter("w", {1, 1}, std::vector<float>{1});
  Result<Bytes> file = build.finish(build.op(OpKind::dense, {build.input(), w}));
  EXPECT_OK(file);
  return *Model::load(std::move(*file));
}

class Pairs final : public ExampleSource {
 public:
  Pairs(std::vector<std::pair<float, float>> pairs, bool is_labelled)
      : pairs_(std::move(pairs)), is_labelled_(is_labelled) {}
  uint64_t size() const override { return pairs_.size(); }
  Status read(uint64_t index, const Example& to) override {
    to.features()[0] = pairs_[index].first;
    if (is_labelled_) to.labels()[0] = static_cast<int32_t>(pairs_[index].second);
    else to.targets()[0] = pairs_[index].second;
    return {};
  }

 private:
  std::vector<std::pair<float, float>> pairs_;
  bool is_labelled_;
};

TEST(Measure, ComparesNumbersWithNumbers) {
  Pairs pairs({{3, -0.5f}, {0, 0.5f}, {2, 2}, {7, 8}}, false);
  const LossSettings loss{.kind = Loss::mean_squared_error, .target = TargetKind::values};
  const Result<Measured> measured = measure(echo(), pairs, loss, {"mae", "rmse", "r2"});
  ASSERT_OK(measured);
  EXPECT_DOUBLE_EQ(measured->measures[0].value, 1.25);
  EXPECT_DOUBLE_EQ(measured->measures[1].value, std::sqrt(13.5 / 4));
  EXPECT_DOUBLE_EQ(measured->measures[2].value, 1 - 13.5 / 43.5) << "scikit-learn's r2_score";
  const Result<Measured> scaled = measure(echo(), pairs, loss, {"mae", "r2"}, 1, 100);
  ASSERT_OK(scaled);
  EXPECT_DOUBLE_EQ(scaled->measures[0].value, 125) << "in the target's unit";
  EXPECT_EQ(scaled->measures[1].value, measured->measures[2].value) << "which R2 has not";
  Pairs constant({{1, 4}, {2, 4}}, false);
  const Result<Measured> none = measure(echo(), constant, loss, {"r2"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("not all the same"));
  const Result<Measured> wrong = measure(echo(), pairs, loss, {"f1"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("f1 needs classes"));
}

TEST(Measure, TakesASingleScoreForTheSecondOfTwoClasses) {
  Pairs pairs({{-3, 0}, {-1, 0}, {-2, 1}, {4, 1}}, true);
  const Result<Measured> measured = measure(echo(), pairs, {.kind = Loss::binary_cross_entropy}, {"auc", "recall"});
  ASSERT_OK(measured);
  EXPECT_DOUBLE_EQ(measured->measures[0].value, 0.75);
  EXPECT_DOUBLE_EQ(measured->measures[1].value, (1 + 0.5) / 2);
}

TEST(Measure, LeavesOutWhatDoesNotFitIfAllAreWanted) {
  Pairs pairs({{1, 2}}, false);
  const Result<Measured> measured = measure(echo(), pairs, {.kind = Loss::l1, .target = TargetKind::values}, {"all"});
  ASSERT_OK(measured);
  ASSERT_EQ(measured->measures.size(), 2u);
  EXPECT_EQ(measured->measures[0].name, "mae");
}

}  // namespace
}  // namespace coterie::test
