#include "tools/attack/attack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/dataset_source.h"
#include "tests/support/matchers.h"
#include "tools/attack/drawn_liars.h"
#include "tools/attack/flipped_labels.h"

namespace coterie {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<float> forged(AttackKind kind, std::vector<float> delta, const HonestMoments& honest = {},
                          uint64_t seed = 1) {
  forge(kind, honest, 10, seed, delta);
  return delta;
}

TEST(Attack, IsReadAndSaidInOneWord) {
  for (const char* text : {"label_flip:0.2", "sign_flip:0.5", "gaussian:0.01", "alie:0.3", "ipm:0.1",
                           "replacement:0.05", "free_rider:0.2", "alie:0.2,drawn"}) {
    const Result<Attack> attack = parse_attack(text);
    ASSERT_OK(attack);
    EXPECT_EQ(to_string(*attack), text);
  }
  EXPECT_EQ(to_string(Attack()), "none");
  for (const char* text :
       {"", "sign_flip", "sign_flip:", "sign_flip:0", "sign_flip:0.6", "sign_flip:nan", "none:0.2", "other:0.2",
        "sign_flip:0.2x", "sign_flip:0.2,", "sign_flip:,drawn", "sign_flip:0.2,first"}) {
    EXPECT_ERROR(parse_attack(text), ErrorCode::invalid_argument, "KIND:SHARE") << text;
  }
}

TEST(Attack, HasAsManyLiarsAsTheShareSays) {
  EXPECT_EQ((Attack{AttackKind::ipm, 0.2}.liars_of(25)), 5u) << "0.2 is a little less than a fifth";
  EXPECT_EQ((Attack{AttackKind::ipm, 0.2}.liars_of(4)), 0u);
  EXPECT_EQ(Attack().liars_of(100), 0u);
}

TEST(Attack, DrawsAsManyLiarsInEachRoundAndEverybodyAtTimes) {
  const Attack attack = {AttackKind::ipm, 0.2, true};
  std::vector<int> times(25);
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<bool> lies = drawn_liars(attack, 25, static_cast<uint64_t>(round));
    ASSERT_EQ(std::ranges::count(lies, true), 5);
    EXPECT_EQ(drawn_liars(attack, 25, static_cast<uint64_t>(round)), lies) << "the seed says who";
    for (size_t place = 0; place < 25; ++place) times[place] += lies[place] ? 1 : 0;
  }
  EXPECT_THAT(times, Each(testing::AllOf(testing::Gt(140), testing::Lt(260)))) << "200, and almost five deviations";
  EXPECT_THAT(drawn_liars(attack, 4, 1), Each(false));
  EXPECT_THAT(drawn_liars(attack, 0, 1), testing::IsEmpty());
}

TEST(Attack, ADeviceAloneCannotDoWhatNeedsTheOthers) {
  EXPECT_OK(parse_device_attack("replacement:0.2"));
  EXPECT_ERROR(parse_device_attack("alie:0.2"), ErrorCode::invalid_argument, "coterie simulate");
  EXPECT_ERROR(parse_device_attack("sign_flip:0.2,drawn"), ErrorCode::invalid_argument, "coterie simulate");
  EXPECT_ERROR(parse_lie("ipm:10"), ErrorCode::invalid_argument, "coterie simulate");
  EXPECT_ERROR(parse_lie("sign_flip"), ErrorCode::invalid_argument, "KIND:UPDATES");
  EXPECT_EQ(to_string(parse_lie("sign_flip:10").value()), "sign_flip:10");
}

TEST(Attack, LiesAreWhatTheirDefinitionsSay) {
  EXPECT_THAT(forged(AttackKind::sign_flip, {1, -2}), ElementsAre(-5, 10));
  EXPECT_THAT(forged(AttackKind::replacement, {1, -2}), ElementsAre(10, -20));
  EXPECT_THAT(forged(AttackKind::free_rider, {1, -2}), Each(0));
  EXPECT_THAT(forged(AttackKind::label_flip, {1, -2}), ElementsAre(1, -2)) << "its training was the lie";
  const std::vector<std::vector<float>> updates = {{1, 4}, {3, 4}};
  const HonestMoments honest = moments_of(std::vector<std::span<const float>>(updates.begin(), updates.end()));
  EXPECT_THAT(honest.mean, ElementsAre(2, 4));
  EXPECT_THAT(honest.deviation, ElementsAre(1, 0));
  EXPECT_THAT(forged(AttackKind::alie, {9, 9}, honest), ElementsAre(0.5f, 4));
  EXPECT_THAT(forged(AttackKind::ipm, {9, 9}, honest), ElementsAre(-1, -2));
}

TEST(Attack, NoiseIsOfItsDeviationAndOfItsSeed) {
  const std::vector<float> noise = forged(AttackKind::gaussian, std::vector<float>(20'000, 3));
  double mean = 0, squares = 0;
  for (const float value : noise) mean += static_cast<double>(value) / 20'000;
  for (const float value : noise) squares += std::pow(static_cast<double>(value), 2) / 20'000;
  EXPECT_NEAR(mean, 0, 0.005);
  EXPECT_NEAR(std::sqrt(squares), 0.1, 0.003);
  EXPECT_EQ(forged(AttackKind::gaussian, std::vector<float>(20'000, 1)), noise);
  EXPECT_NE(forged(AttackKind::gaussian, std::vector<float>(20'000, 1), {}, 2), noise);
}

TEST(FlippedLabels, TurnClassesRound) {
  const std::vector<float> features = {7, 8, 9};
  const std::vector<int32_t> labels = {0, 1, 4};
  Result<DatasetSource> source =
      DatasetSource::load(encode_dataset(labelled_dataset("test", 3, {1}, 5), features, labels));
  ASSERT_OK(source);
  FlippedLabels flipped(*source);
  EXPECT_EQ(flipped.size(), 3u);
  std::vector<int32_t> seen;
  for (uint64_t i = 0; i < 3; ++i) {
    float feature = 0, label = 0;
    const std::vector<std::span<float>> inputs = {{&feature, 1}};
    const Example example(inputs, {&label, 1});
    ASSERT_OK(flipped.read(i, example));
    EXPECT_EQ(feature, features[i]);
    seen.push_back(example.labels()[0]);
  }
  EXPECT_THAT(seen, ElementsAre(4, 3, 0));
}

}  // namespace
}  // namespace coterie
