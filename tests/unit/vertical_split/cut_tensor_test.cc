// Numbers at the cut there and back, what they cost, and noise on them.
#include <cmath>

#include "tests/unit/vertical_split/split_pair.h"
#include "vertical/split/activation_noise.h"
#include "vertical/split/split_random.h"

namespace coterie::vertical {
namespace {

TEST(CutTensor, HasTheBytesOfItsFormula) {
  // A row, each way, without the step's number and the ranges of a batch: 4 D, D, D / 8.
  for (const size_t rows : {1u, 64u, 128u}) {
    for (const size_t width : {1u, 16u, 17u}) {
      EXPECT_EQ(cut_tensor_bytes(rows, width, CutEncoding::float32), rows * width * 4);
      EXPECT_EQ(cut_tensor_bytes(rows, width, CutEncoding::int8), rows * width + 8 * width);
      EXPECT_EQ(cut_tensor_bytes(rows, width, CutEncoding::bit1), rows * ((width + 7) / 8) + 8 * width);
    }
  }
  // The design's bounds: 2 D in int8 both ways, D / 8 + 4 forward in one bit.
  EXPECT_LE(cut_message_bytes(128, 16, CutEncoding::bit1), 128 * (16 / 8 + 4));
}

TEST(CutTensor, ComesBackRightInTheMean) {
  const std::vector<float> values = {-1, 0.25f, 3, 0.5f, -0.5f, 3};  // 3 rows of 2
  for (const CutEncoding encoding : {CutEncoding::float32, CutEncoding::int8, CutEncoding::bit1}) {
    std::vector<double> sums(values.size());
    constexpr uint32_t kRounds = 2000;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const std::vector<uint64_t> random =
          split_words(test::split_secret(1), SplitDraw::rounding, round, values.size());
      const auto read = read_cut_tensor(write_cut_tensor(values, 2, encoding, random), 3, 2, encoding);
      ASSERT_OK(read);
      for (size_t i = 0; i < values.size(); ++i) sums[i] += double{(*read)[i]} / kRounds;
    }
    const double tolerance = encoding == CutEncoding::bit1 ? 0.15 : encoding == CutEncoding::int8 ? 0.002 : 1e-6;
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(sums[i], double{values[i]}, tolerance);
  }
}

TEST(CutTensor, RefusesWhatIsNone) {
  const std::vector<float> values = {1, 2, 3};
  const std::vector<uint64_t> random(3);
  const Bytes good = write_cut_tensor(values, 3, CutEncoding::bit1, random);
  EXPECT_OK(read_cut_tensor(good, 1, 3, CutEncoding::bit1));
  EXPECT_ERROR(read_cut_tensor(ByteView(good).first(good.size() - 1), 1, 3, CutEncoding::bit1), ErrorCode::malformed,
               "expected 25");
  Bytes bad = good;
  bad.back() |= 8;
  EXPECT_ERROR(read_cut_tensor(bad, 1, 3, CutEncoding::bit1), ErrorCode::malformed, "behind its last number");
  bad = good;
  bad[3] = 0xc0;  // least above largest is no range; a negative least is
  bad[7] = 0xc1;
  EXPECT_ERROR(read_cut_tensor(bad, 1, 3, CutEncoding::bit1), ErrorCode::malformed, "range");
}

TEST(ActivationNoise, IsOfTheDeviationThatItSaysOnVectorsOfTheNorm) {
  SplitSettings settings{.cut = 2, .activation_clip = 2, .activation_noise = 0.5};
  const auto noise = ActivationNoise::make(settings, 10'000);
  ASSERT_OK(noise);
  double mean[2] = {}, squares = 0;
  constexpr uint32_t kRounds = 4000;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<float> row = {6, 8};  // norm 10, cut to 2: {1.2, 1.6}
    noise->release(row, 2, test::split_secret(2), SplitDraw::activation_noise, round);
    mean[0] += double{row[0]} / kRounds;
    mean[1] += double{row[1]} / kRounds;
    squares += (double{row[0]} - 1.2) * (double{row[0]} - 1.2) / kRounds;
  }
  EXPECT_NEAR(mean[0], 1.2, 0.06);
  EXPECT_NEAR(mean[1], 1.6, 0.06);
  EXPECT_NEAR(std::sqrt(squares), 1, 0.05);  // 0.5 times the norm
  EXPECT_DOUBLE_EQ(noise->factor(std::vector<float>{6, 8}), 0.2);
  EXPECT_EQ(noise->factor(std::vector<float>{1, 1}), 1);
}

TEST(ActivationNoise, CostsWhatAVectorCosts) {
  // Any vector for any other: a distance of twice the norm. Gaussian noise of sigma over it, 20 times: Balle and Wang.
  const SplitSettings settings{.cut = 16, .activation_clip = 1, .activation_noise = 8};
  const Result<double> once = activation_epsilon(settings, 1), often = activation_epsilon(settings, 20);
  ASSERT_OK(once);
  ASSERT_OK(often);
  EXPECT_NEAR(*once, 1.2, 0.2);   // mu = 0.25
  EXPECT_NEAR(*often, 5.9, 0.6);  // mu = 1.12
}

}  // namespace
}  // namespace coterie::vertical
