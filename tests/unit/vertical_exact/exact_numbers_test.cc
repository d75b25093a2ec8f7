// Sums of encrypted residuals, masks over them, and how many people a batch needs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "secure/he/paillier_key.h"
#include "tests/support/matchers.h"
#include "vertical/exact/exact_settings.h"
#include "vertical/exact/masked_sums.h"
#include "vertical/exact/residual_sums.h"
#include "vertical/regression/regression_model.h"

namespace coterie::vertical {
namespace {

TEST(ExactSettings, ABatchHasMorePeopleThanItsGradientHasBits) {
  EXPECT_EQ(exact_rows_min(1), 81u);
  EXPECT_EQ(exact_rows_min(20), 412u);
  const RegressionSettings whole{.epochs = 1, .batch = 512};
  EXPECT_OK(check_exact_batches(412, 11, 20, whole));
  for (const auto& [rows, batch] : {std::pair(411u, 512u), {1000u, 411u}, {923u, 512u}}) {
    const Status status = check_exact_batches(rows, 11, 20, {.epochs = 1, .batch = batch});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().reason(), "batch_reveals_labels") << rows << " in batches of " << batch;
  }
  EXPECT_OK(check_exact_batches(924, 11, 20, whole)) << "the last batch has 412 people";
}

// The entropy of a first gradient over all labels of so few people that all can be tried, in bits.
double entropy_of_gradient(uint32_t rows) {
  Prng prng(11);
  std::vector<float> values(rows);
  for (float& value : values) value = static_cast<float>(prng.uniform());
  const RegressionModel scales = scale_columns({values});
  std::vector<int64_t> whole;
  for (const float value : values) {
    whole.push_back(std::lround(std::ldexp(standardised(scales.columns[0], value), kExactColumnBits)));
  }
  std::map<int64_t, uint32_t> counts;
  for (uint32_t labels = 0; labels < 1u << rows; ++labels) {
    int64_t sum = 0;
    for (uint32_t row = 0; row < rows; ++row) sum += (labels >> row & 1) != 0 ? whole[row] : -whole[row];
    ++counts[sum];
  }
  double entropy = 0;
  for (const auto& [sum, count] : counts) {
    const double share = count / std::ldexp(1.0, static_cast<int>(rows));
    entropy -= share * std::log2(share);
  }
  return entropy;
}

TEST(ExactSettings, AFirstGradientHasNoMoreBitsThanTheRuleCounts) {
  EXPECT_GT(entropy_of_gradient(8), 7.9) << "it tells the labels of so few people";
  const double entropy = entropy_of_gradient(18);
  EXPECT_LT(entropy, kExactColumnBits + std::log2(18) / 2 + 1.05);
  EXPECT_GT(entropy, 14) << "and not many fewer";
}

TEST(MaskedSums, GiveBackWhatTheyHide) {
  Secret<32> seed;
  const std::vector<MaskedSum> masks = draw_masks(seed, 3, 4);
  EXPECT_NE(masks, draw_masks(seed, 4, 4));
  EXPECT_EQ(masks, draw_masks(seed, 3, 4));
  const int128 limit = int128{1} << kSumBits;
  for (const int128 sum : {int128{0}, int128{1}, int128{-1}, limit - 1, -limit}) {
    MaskedSum masked{};
    int carry = 0;
    for (size_t i = 0; i < kMaskedSumBytes; ++i) {
      const int byte = i < 16 ? static_cast<uint8_t>(sum >> (8 * i)) : (sum < 0 ? 0xff : 0);
      const int digit = byte + masks[1][i] + carry;
      masked[i] = static_cast<uint8_t>(digit);
      carry = digit >> 8;
    }
    const auto unpacked = unpack_masked(pack_masked(std::vector{masks[0], masked}), 2);
    ASSERT_OK(unpacked);
    const auto back = unmask((*unpacked)[1], masks[1]);
    ASSERT_OK(back);
    EXPECT_TRUE(*back == sum);
    EXPECT_FALSE(unmask(masked, masks[2])) << "another mask's";
  }
  EXPECT_FALSE(unpack_masked(pack_masked(masks), 3)) << "one too many";
  EXPECT_FALSE(unpack_masked(PlainNumber(8, ~uint64_t{0}), 2)) << "negative";
}

TEST(ResidualSums, AreTheProductsOfTheColumns) {
  const Secret<32> seed;
  he::PaillierKey made = he::generate_paillier_key(he::kTestKeyBits, seed);
  const auto cipher = he::paillier_cipher_of(he::copy_of(made.n), Secret<32>());
  const auto key = he::paillier_key_of(std::move(made), Secret<32>());
  constexpr int64_t kRows = 40;
  std::vector<PlainNumber> numbers;
  int64_t all = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t residual = (i * 7919 % 41 - 20) * (int64_t{1} << 30);
    numbers.push_back({static_cast<uint64_t>(residual)});
    all += residual;
  }
  numbers.push_back({static_cast<uint64_t>(-all)});
  Bytes bytes(numbers.size() * key->ciphertext_bytes());
  key->encrypt_each(numbers, bytes);
  const auto read = cipher->read(bytes);
  ASSERT_OK(read);
  CiphertextList residuals;
  for (size_t i = 0; i < kRows; ++i) residuals.push_back((*read)[i].get());
  std::vector<std::vector<int32_t>> columns(18, std::vector<int32_t>(kRows));  // two groups
  for (size_t c = 2; c < columns.size(); ++c) {
    for (size_t i = 0; i < kRows; ++i) columns[c][i] = static_cast<int32_t>((i * 6151 + c * 77) % 9001) - 3000;
  }
  columns[1].assign(kRows, 5);
  const std::vector<std::span<const int32_t>> spans(columns.begin(), columns.end());
  const auto sums = residual_sums(*cipher, residuals, *read->back(), spans);
  ASSERT_EQ(sums.size(), columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    int64_t expected = 0;
    for (size_t i = 0; i < kRows; ++i) expected += columns[c][i] * static_cast<int64_t>(numbers[i][0]);
    cipher->add_number(*sums[c], {static_cast<uint64_t>(int64_t{-17})});
    Bytes one(key->ciphertext_bytes());
    cipher->write(*sums[c], one);
    const auto opened = key->decrypt(one);
    ASSERT_OK(opened);
    EXPECT_EQ(static_cast<int64_t>((*opened)[0][0]), expected - 17) << "column " << c;
  }
}

}  // namespace
}  // namespace coterie::vertical
