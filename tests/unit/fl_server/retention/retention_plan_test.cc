#include "fl_server/retention/retention_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Millis kHour{3'600'000};

WallTime at(Millis time) { return wall_time_from_unix_ms(1'750'000'000'000 + time.count()); }

// Versions 0, 1, ..., one an hour.
std::vector<ModelRecord> hourly(size_t count) {
  std::vector<ModelRecord> models(count);
  for (size_t i = 0; i < count; ++i) {
    models[i].version = ModelVersion(i);
    models[i].created = at(kHour * static_cast<int>(i));
  }
  return models;
}

std::vector<uint64_t> numbers(const std::vector<ModelVersion>& versions) {
  std::vector<uint64_t> values;
  for (const ModelVersion version : versions) values.push_back(version.value());
  return values;
}

TEST(RetentionPlan, KeepsTheNewestVersionsAndTheFirst) {
  const RetentionSettings settings{.models_kept = 3, .superseded_min = Millis(0)};
  EXPECT_THAT(numbers(versions_to_forget({hourly(8), {}, {}}, settings, at(kHour * 100))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(versions_to_forget({hourly(3), {}, {}}, settings, at(kHour * 100)), IsEmpty());
  EXPECT_THAT(versions_to_forget({{}, {}, {}}, settings, at(kHour)), IsEmpty());
}

TEST(RetentionPlan, KeepsWhatIsReleasedTrainedFromOrDividedByTheSetting) {
  const RetentionSettings settings{.models_kept = 2, .models_kept_every = 4, .superseded_min = Millis(0)};
  const ModelHistory history{hourly(12), {ModelVersion(3), ModelVersion(7)}, ModelVersion(9)};
  EXPECT_THAT(numbers(versions_to_forget(history, settings, at(kHour * 100))), ElementsAre(1, 2, 5, 6));
}

TEST(RetentionPlan, KeepsAVersionForSoLongAfterTheNextOneWasMade) {
  const RetentionSettings settings{.models_kept = 1, .superseded_min = 2 * kHour};
  // Version 4 was superseded when 5 was made, at hour 5.
  EXPECT_THAT(numbers(versions_to_forget({hourly(8), {}, {}}, settings, at(kHour * 7))), ElementsAre(1, 2, 3, 4));
}

TEST(RetentionPlan, ASettingOfNoneKeepsTheNewest) {
  const RetentionSettings settings{.models_kept = 0, .superseded_min = Millis(0), .rounds_kept = 0};
  EXPECT_THAT(numbers(versions_to_forget({hourly(3), {}, {}}, settings, at(kHour * 100))), ElementsAre(1));
  EXPECT_EQ(first_round_kept(7, settings), 7u);
}

TEST(RetentionPlan, CountsRoundsFromTheNewest) {
  const RetentionSettings settings{.rounds_kept = 10};
  EXPECT_EQ(first_round_kept(0, settings), 0u);
  EXPECT_EQ(first_round_kept(9, settings), 0u);
  EXPECT_EQ(first_round_kept(10, settings), 1u);
  EXPECT_EQ(first_round_kept(100, settings), 91u);
}

// "nothing that is named is removed", whatever the settings and the history.
TEST(RetentionPlan, NeverForgetsWhatIsNamed) {
  Prng prng(7);
  for (int run = 0; run < 2'000; ++run) {
    ModelHistory history{hourly(1 + prng.below(40)), {}, {}};
    std::erase_if(history.models, [&](const ModelRecord& model) {
      return model.version != ModelVersion(0) && model.version != history.models.back().version && prng.chance(0.3);
    });
    const auto some = [&] { return history.models[prng.below(history.models.size())].version; };
    for (uint64_t i = prng.below(4); i > 0; --i) history.released.push_back(some());
    if (prng.chance(0.5)) history.base = some();
    const RetentionSettings settings{.models_kept = static_cast<uint32_t>(prng.below(10)),
                                     .models_kept_every = static_cast<uint32_t>(prng.below(6)),
                                     .superseded_min = kHour * static_cast<int>(prng.below(10))};
    const std::vector<ModelVersion> going =
        versions_to_forget(history, settings, at(kHour * static_cast<int>(prng.below(60))));
    const auto goes = [&](ModelVersion version) { return std::ranges::count(going, version) > 0; };
    EXPECT_FALSE(goes(ModelVersion(0)));
    EXPECT_FALSE(goes(history.models.back().version));
    for (const ModelVersion version : history.released) EXPECT_FALSE(goes(version));
    if (history.base) EXPECT_FALSE(goes(*history.base));
    const size_t left = history.models.size() - going.size();
    EXPECT_GE(left, std::min<size_t>(history.models.size(), settings.models_kept));
    EXPECT_TRUE(std::ranges::is_sorted(going));
  }
}

// ---- Blobs

Digest numbered(uint8_t value) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

TEST(RetentionPlan, KeepsABlobThatARowNames) {
  EXPECT_EQ(age_to_go({numbered(1), at(Millis(0))}, {numbered(1)}, {}, {}, at(kHour)), std::nullopt);
  EXPECT_NE(age_to_go({numbered(2), at(Millis(0))}, {numbered(1)}, {}, {}, at(kHour)), std::nullopt);
}

TEST(RetentionPlan, ABlobOfAForgottenVersionGoesUnlessItWasPutSince) {
  EXPECT_EQ(age_to_go({numbered(1), at(kHour)}, {}, {}, {}, at(5 * kHour)), 4 * kHour - kNamingMax);
}

TEST(RetentionPlan, ABlobOfNobodyGoesWhenItIsAsOldAsTheSetting) {
  EXPECT_EQ(age_to_go({numbered(1)}, {}, {}, {.uploads_kept = 9 * kHour}, at(5 * kHour)), 9 * kHour);
}

// "nothing that is about to be named is removed"
TEST(RetentionPlan, KeepsWhatWasPutSinceTheOldestAttemptWasOpened) {
  const WallTime now = at(10 * kHour);
  const WallTime early = at(kHour), made = at(9 * kHour);
  EXPECT_EQ(age_to_go({numbered(1), made}, {}, {.frozen = early}, {}, now), 9 * kHour + kBlobClockSkewMax);
  EXPECT_EQ(age_to_go({numbered(1), made}, {}, {.collecting = early}, {}, now), kHour - kNamingMax);
  EXPECT_EQ(age_to_go({numbered(1)}, {}, {.collecting = early}, {.uploads_kept = kHour}, now),
            9 * kHour + kBlobClockSkewMax);
  EXPECT_EQ(age_to_go({numbered(1), now}, {}, {}, {}, now), kNamingMax) << "whoever put it may be about to name it";
}

}  // namespace
}  // namespace coterie
