// Which rows a round of trees looks at, what they stand for, and what a feature party takes for a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "tests/unit/vertical_trees/run_trees.h"
#include "vertical/trees/gradient_sample.h"

namespace coterie::vertical {
namespace {

using test::Said;

using Gradients = std::vector<std::vector<SumPair>>;

constexpr uint32_t kSampleRows = 20;
constexpr Goss kGoss{.top_rate = 0.2, .other_rate = 0.1};

Secret<32> seed_of(uint8_t byte) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = byte;
  return seed;
}

// Two classes; row r has |gradients| of r / 2 together: rows come in pairs of equal size.
Gradients growing() {
  Gradients gradients(2, std::vector<SumPair>(kSampleRows));
  for (uint32_t row = 0; row < kSampleRows; ++row) {
    const int32_t size = static_cast<int32_t>(row) / 2;
    gradients[0][row] = {.first = -size, .second = 3};
    gradients[1][row] = {.first = size, .second = 5};
  }
  return gradients;
}

TEST(GradientSample, HasSharesOfTheRows) {
  EXPECT_EQ(sample_size(kGoss, 1000).top, 200u);
  EXPECT_EQ(sample_size(kGoss, 1000).rows(), 300u);
  EXPECT_EQ(sample_size(kGoss, 3).top, 0u);
  EXPECT_EQ(sample_size(kGoss, 3).other, 1u);
  EXPECT_EQ(sample_size({.top_rate = 0.7, .other_rate = 0.3}, 10).rows(), 10u);
}

TEST(GradientSample, KeepsTheLargestAndDrawsAmongTheOthers) {
  Gradients gradients = growing();
  const std::vector<uint32_t> rows = sample_gradients({.top_rate = 0.25, .other_rate = 0.1}, seed_of(1), 0, gradients);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_TRUE(std::ranges::is_sorted(rows));
  // One row of a pair fits: the earlier one.
  for (const uint32_t row : {14u, 16u, 17u, 18u, 19u}) EXPECT_TRUE(std::ranges::count(rows, row)) << row;
  EXPECT_EQ(gradients[0][16], growing()[0][16]);
  for (uint32_t row = 0; row < kSampleRows; ++row) {
    const bool is_looked_at = std::ranges::count(rows, row) > 0;
    const bool is_drawn = is_looked_at && (row < 14 || row == 15);
    if (!is_looked_at) EXPECT_EQ(gradients[1][row], SumPair{}) << row;
    // Two of fifteen: each stands for seven and a half.
    if (is_drawn) EXPECT_EQ(gradients[1][row].second, 38) << row;
    if (is_drawn) EXPECT_EQ(gradients[0][row].first, -((static_cast<int32_t>(row) / 2 * 15 + 1) / 2)) << row;
  }
}

TEST(GradientSample, IsTheSeedsAndTheRounds) {
  std::set<std::vector<uint32_t>> samples;
  for (const uint8_t seed : {uint8_t{1}, uint8_t{2}}) {
    for (const uint32_t round : {0u, 1u, 2u}) {
      Gradients first = growing(), again = growing();
      const auto rows = sample_gradients(kGoss, seed_of(seed), round, first);
      EXPECT_EQ(sample_gradients(kGoss, seed_of(seed), round, again), rows);
      EXPECT_EQ(again, first);
      samples.insert(rows);
    }
  }
  EXPECT_GT(samples.size(), 3u);
}

// Over many draws each of the others comes as often, and the sums are those of all rows.
TEST(GradientSample, IsUniformAndUnbiased) {
  constexpr uint32_t kDraws = 4000;
  std::vector<uint32_t> times(kSampleRows);
  int128 sum = 0, expected = 0;
  const Gradients whole = growing();
  for (const SumPair& pair : whole[0]) expected += pair.first * 1000;
  for (uint32_t round = 0; round < kDraws; ++round) {
    Gradients gradients = growing();
    for (SumPair& pair : gradients[0]) pair.first *= 1000;
    for (const uint32_t row : sample_gradients(kGoss, seed_of(3), round, gradients)) ++times[row];
    for (const SumPair& pair : gradients[0]) sum += pair.first;
  }
  for (uint32_t row = 0; row < 16; ++row) EXPECT_NEAR(times[row], kDraws / 8, 110) << row;  // five deviations
  for (uint32_t row = 16; row < kSampleRows; ++row) EXPECT_EQ(times[row], kDraws);
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, static_cast<double>(expected), 0.02 * 90'000);
}

TEST(GradientSample, WhatRatesCannotBeIsNamed) {
  const auto check = [](double top, double other) {
    return check_tree_settings({.goss = Goss{.top_rate = top, .other_rate = other}});
  };
  EXPECT_OK(check(0, 1));
  EXPECT_OK(check(0.9, 0.1));
  EXPECT_ERROR(check(-0.1, 0.1), ErrorCode::invalid_argument, "goss top_rate");
  EXPECT_ERROR(check(0.2, 0), ErrorCode::invalid_argument, "goss other_rate");
  EXPECT_ERROR(check(0.2, std::numeric_limits<double>::quiet_NaN()), ErrorCode::invalid_argument, "goss other_rate");
  EXPECT_ERROR(check(0.8, 0.4), ErrorCode::invalid_argument, "top_rate + other_rate");
}

// ---- What a feature party takes

struct SampledPair {
  std::unique_ptr<LabelTraining> label;
  std::unique_ptr<FeatureTraining> feature;
};

SampledPair sampled_pair(const TreeSettings& settings) {
  std::vector<std::vector<float>> columns(2, std::vector<float>(kSampleRows));
  std::vector<float> labels;
  for (uint32_t row = 0; row < kSampleRows; ++row) {
    columns[0][row] = static_cast<float>(row * 7 % 11);
    columns[1][row] = static_cast<float>(row * 3 % 13);
    labels.push_back(row * 3 % 13 > 6 ? 1.0f : 0.0f);
  }
  return {*LabelTraining::start(*bin_columns({columns[0]}, 4), labels, settings, {1},
                                std::make_unique<test::PlainKey>(), {}, seed_of(1)),
          *FeatureTraining::start(*bin_columns({columns[1]}, 4), settings, seed_of(2), test::plain_cipher)};
}

TreeSettings sampled_settings() { return {.rounds = 2, .depth = 2, .min_child_weight = 0, .goss = kGoss}; }

TEST(TreeSample, HasNoCiphertextOfARowThatIsNotLookedAt) {
  const SampledPair parties = sampled_pair(sampled_settings());
  std::vector<Said> transcript;
  EXPECT_OK(test::run_stages({parties.label.get(), parties.feature.get()}, &transcript));
  size_t samples = 0, gradients = 0;
  for (const Said& said : transcript) {
    if (said.kind == 107) {
      ++samples;
      EXPECT_EQ(said.payload.size(), 4u + 3u);
    } else if (said.kind == 102) {
      ++gradients;
      EXPECT_EQ(said.payload.size(), 8u + 6u * 256);
    }
  }
  EXPECT_EQ(samples, 2u);
  EXPECT_EQ(gradients, 2u);
}

// What row L13 says: whoever sees the second round's sample has all of a rare label among three in ten.
TEST(TreeSample, TellsWhoHasARareLabel) {
  constexpr uint32_t kMany = 300;
  Prng random(8);
  std::vector<std::vector<float>> columns(2, std::vector<float>(kMany));
  std::vector<float> labels;
  for (uint32_t row = 0; row < kMany; ++row) {
    for (auto& column : columns) column[row] = static_cast<float>(random.normal());
    labels.push_back(row % 10 == 3 ? 1.0f : 0.0f);
  }
  TreeSettings settings = sampled_settings();
  settings.min_child_weight = 10;
  const auto label = *LabelTraining::start(*bin_columns({columns[0]}, 4), labels, settings, {1},
                                           std::make_unique<test::PlainKey>(), {}, seed_of(1));
  const auto feature = *FeatureTraining::start(*bin_columns({columns[1]}, 4), settings, seed_of(2), test::plain_cipher);
  std::vector<Said> transcript;
  EXPECT_OK(test::run_stages({label.get(), feature.get()}, &transcript));
  const auto second =
      std::ranges::find_if(transcript, [](const Said& said) { return said.kind == 107 && said.payload[0] == 1; });
  ASSERT_NE(second, transcript.end());
  for (uint32_t row = 3; row < kMany; row += 10) {
    EXPECT_NE(second->payload[4 + row / 8] >> (row % 8) & 1, 0) << row;
  }
}

// Up to the first sample, which is changed.
Status with_sample(const std::function<void(Message&)>& change) {
  const SampledPair parties = sampled_pair(sampled_settings());
  for (;;) {
    auto message = parties.label->next();
    EXPECT_TRUE(message.has_value());
    message->peer = 0;
    const bool is_sample = message->kind == 107;
    if (is_sample) change(*message);
    COT_TRY(parties.feature->receive(*message));
    if (is_sample) return parties.feature->receive(*message);  // a second one
    while (auto answer = parties.feature->next()) {
      answer->peer = 1;
      COT_TRY(parties.label->receive(*answer));
    }
  }
}

TEST(TreeSample, OfOtherRowsThanApprovedIsRefused) {
  EXPECT_ERROR(with_sample([](Message&) {}), ErrorCode::malformed, "sent sample, expected gradients");
  EXPECT_ERROR(with_sample([](Message& message) { message.payload.pop_back(); }), ErrorCode::malformed,
               "a sample has 2 bytes");
  EXPECT_ERROR(with_sample([](Message& message) { message.payload.back() |= 0x80; }), ErrorCode::malformed,
               "bits behind its rows");
  EXPECT_ERROR(with_sample([](Message& message) { message.payload[0] = 1; }), ErrorCode::malformed, "tree 1");
  EXPECT_ERROR(with_sample([](Message& message) {
                 std::fill(message.payload.begin() + 4, message.payload.end(), uint8_t{0});
                 message.payload[4] = 1;
               }),
               ErrorCode::malformed, "sample is of rows 1, expected 6");
  EXPECT_ERROR(with_sample([](Message& message) {
                 message.payload[4] = message.payload[5] = 0xff;
                 message.payload[6] = 0x0f;
               }),
               ErrorCode::malformed, "sample is of rows 20, expected 6");
  EXPECT_ERROR(with_sample([](Message& message) { message.payload.clear(); }), ErrorCode::malformed,
               "a sample has 0 bytes");
}

}  // namespace
}  // namespace coterie::vertical
