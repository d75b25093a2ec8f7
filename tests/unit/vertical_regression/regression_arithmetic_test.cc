// The parts of a training on shares against double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "vertical/regression/fourier_sigmoid.h"
#include "vertical/regression/masked_truncation.h"
#include "vertical/regression/regression_model.h"
#include "vertical/regression/turn_sine.h"

namespace coterie::vertical {
namespace {

TEST(TurnSine, IsThatOfTheAngle) {
  Prng random(1);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t turn = i < 64 ? uint64_t(i) << 58 : random.next();
    const double angle = std::ldexp(static_cast<double>(turn), -63) * std::numbers::pi;
    const SinePair pair = sine_of_turn(turn);
    EXPECT_NEAR(std::ldexp(static_cast<double>(pair.sine), -kSineBits), std::sin(angle), 1.5e-8) << turn;
    EXPECT_NEAR(std::ldexp(static_cast<double>(pair.cosine), -kSineBits), std::cos(angle), 1.5e-8) << turn;
  }
}

// These integers are the same on every machine: shares are multiplied by them.
TEST(TurnSine, HasTheseBits) {
  EXPECT_EQ(sine_of_turn(0).sine, 0);
  EXPECT_EQ(sine_of_turn(0).cosine, int64_t{1} << kSineBits);
  uint64_t all = 0;
  for (uint64_t turn = 1; turn < 1000; ++turn) {
    const SinePair pair = sine_of_turn(turn * 0x9E3779B97F4A7C15);
    all = all * 31 + static_cast<uint64_t>(pair.sine) * 7 + static_cast<uint64_t>(pair.cosine);
  }
  EXPECT_EQ(all, 2000383057523880369u);
}

TEST(MaskedTruncation, IsExactButForTheLastPlace) {
  Prng random(2);
  for (int i = 0; i < 20'000; ++i) {
    // All sizes below 2^62, of both signs, and the ends.
    auto value = static_cast<int64_t>(random.next()) >> (2 + i % 60);
    if (i == 0) value = (int64_t{1} << 62) - 1;
    if (i == 1) value = -(int64_t{1} << 62);
    if (i == 2) value = 0;
    const Word mask = random.next(), share = random.next();
    const TruncationShare whole = truncation_of_mask(mask);
    const TruncationShare first{.high = random.next(), .top = random.next()};
    const TruncationShare second{.high = whole.high - first.high, .top = whole.top - first.top};
    const Word opened = (static_cast<Word>(value) - share) + (share + mask);
    const auto truncated =
        static_cast<int64_t>(truncated_share(opened, first, true) + truncated_share(opened, second, false));
    const int64_t floor = value >> kTruncatedBits;
    EXPECT_TRUE(truncated == floor || truncated == floor + 1) << value << ": " << truncated << ", floor " << floor;
  }
}

struct Opened {
  double residual, edge;
};

// The sigmoid of a margin in shares.
Opened opened_sigmoid(const RingPlan& plan, double margin, double scale, Prng& random) {
  const Word mask = random.next();
  const auto whole = sines_of_mask(mask, plan.sine_bits());
  std::array<Word, kSineWords> first, second;
  for (size_t i = 0; i < kSineWords; ++i) {
    first[i] = random.next();
    second[i] = whole[i] - first[i];
  }
  const FourierSigmoid sigmoid(plan, scale);
  const Word opened = to_ring(margin, kMarginBits) - mask;
  const RowShares one = sigmoid.shares(opened, first), other = sigmoid.shares(opened, second);
  return {.residual = from_ring(one.residual + other.residual, plan.residual_bits()) / scale + 0.5,
          .edge = from_ring(one.edge + other.edge, plan.residual_bits()) + kEdgeConstant};
}

TEST(FourierSigmoidTest, IsTheSigmoidWithinItsBound) {
  Prng random(3);
  for (const uint32_t batch : {16u, 500u, kRegressionBatchMax}) {
    const RingPlan plan({.rows = batch, .label_columns = 1, .feature_columns = 1, .batch = batch, .epochs = 1});
    double error_sum = 0;
    constexpr int kPoints = 2000;
    for (int i = 0; i <= kPoints; ++i) {
      const double margin = -24 + 48.0 * i / kPoints;
      const Opened opened = opened_sigmoid(plan, margin, 0.75, random);
      EXPECT_NEAR(opened.residual, sigmoid(margin), 0.0105) << margin;
      error_sum += std::abs(opened.residual - sigmoid(margin));
    }
    EXPECT_LT(error_sum / kPoints, 0.003);
  }
}

TEST(FourierSigmoidTest, CountsRowsAtTheEdge) {
  Prng random(4);
  const RingPlan plan({.rows = 1000, .label_columns = 1, .feature_columns = 1, .batch = 1000, .epochs = 1});
  for (const double margin : {0.0, 5.0, -12.0, 21.0, -21.0}) {
    EXPECT_NEAR(opened_sigmoid(plan, margin, 1, random).edge, 0, 0.03) << margin;
  }
  for (const double margin : {31.0, -32.0, 33.0}) {
    EXPECT_NEAR(opened_sigmoid(plan, margin, 1, random).edge, 1, 0.04) << margin;
  }
}

TEST(RingPlan, TakesAllRowsOnceAnEpoch) {
  for (const uint32_t rows : {1u, 16u, 17u, 1000u}) {
    const RingPlan plan({.rows = rows, .label_columns = 1, .feature_columns = 1, .batch = 16, .epochs = 3});
    uint32_t taken = 0;
    for (uint32_t step = 0; step < plan.batches(); ++step) {
      EXPECT_EQ(plan.first_row(step), taken);
      taken += plan.rows_of(step);
    }
    EXPECT_EQ(taken, rows);
    EXPECT_EQ(plan.steps(), 3 * plan.batches());
    EXPECT_EQ(plan.rows_of(plan.steps() - 1), plan.rows_of(plan.batches() - 1));
  }
}

TEST(RegressionModelTest, ReadsWhatItWrites) {
  const RegressionModel model{
      .columns = {{.mean = 1.5, .deviation = 2, .weight = -3}, {.mean = 0, .deviation = 1, .weight = 7}},
      .intercept = 0.25};
  Bytes bytes = write_regression_model(model);
  ASSERT_TRUE(read_regression_model(bytes));
  EXPECT_EQ(*read_regression_model(bytes), model);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_regression_model(ByteView(bytes).first(length)));
  }
  bytes[4] = 3;
  EXPECT_FALSE(read_regression_model(bytes));
}

TEST(RegressionModelTest, MissingAndConstantValuesAddNothing) {
  const std::vector<std::vector<float>> columns = {{1, 3, NAN, 5}, {7, 7, 7, 7}, {NAN, NAN, NAN, NAN}};
  RegressionModel model = scale_columns(columns);
  for (WeightedColumn& column : model.columns) column.weight = 2;
  const std::vector<double> margins = partial_margins(model, columns, 4);
  EXPECT_NEAR(margins[0], -2 * 2 / std::sqrt(8.0 / 3), 1e-12);
  EXPECT_EQ(margins[1], 0);
  EXPECT_EQ(margins[2], 0);
  const RegressionModel far{.columns = {{.mean = 0, .deviation = 1, .weight = 1}}, .intercept = 0};
  EXPECT_EQ(partial_margins(far, {{1e6f}}, 1)[0], kColumnMax);
}

}  // namespace
}  // namespace coterie::vertical
