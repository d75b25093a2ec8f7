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

// `models`: all versions there are.
ModelHistory history_of(std::vector<ModelRecord> models, const RetentionSettings& settings) {
  std::vector<ModelRecord> newest(models.rbegin(), models.rend());
  newest.resize(std::min<size_t>(newest.size(), std::max<size_t>(settings.models_kept, 1)));
  return {std::move(models), first_version_kept(newest), {}, {}};
}

std::vector<uint64_t> numbers(const std::vector<ModelVersion>& versions) {
  std::vector<uint64_t> values;
  for (const ModelVersion version : versions) values.push_back(version.value());
  return values;
}

TEST(RetentionPlan, KeepsTheNewestVersionsAndTheFirst) {
  const RetentionSettings settings{.models_kept = 3, .superseded_min = Millis(0)};
  EXPECT_THAT(numbers(versions_to_forget(history_of(hourly(8), settings), settings, at(kHour * 100))),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(versions_to_forget(history_of(hourly(3), settings), settings, at(kHour * 100)), IsEmpty());
  EXPECT_THAT(versions_to_forget(history_of({}, settings), settings, at(kHour)), IsEmpty());
}

TEST(RetentionPlan, KeepsWhatIsReleasedTrainedFromOrDividedByTheSetting) {
  const RetentionSettings settings{.models_kept = 2, .models_kept_every = 4, .superseded_min = Millis(0)};
  ModelHistory history = history_of(hourly(12), settings);
  history.released = {ModelVersion(3), ModelVersion(7)};
  history.base = ModelVersion(9);
  EXPECT_THAT(numbers(versions_to_forget(history, settings, at(kHour * 100))), ElementsAre(1, 2, 5, 6));
}

TEST(RetentionPlan, KeepsAVersionForSoLongAfterTheNextOneWasMade) {
  const RetentionSettings settings{.models_kept = 1, .superseded_min = 2 * kHour};
  // Version 4 was superseded when 5 was made, at hour 5.
  EXPECT_THAT(numbers(versions_to_forget(history_of(hourly(8), settings), settings, at(kHour * 7))),
              ElementsAre(1, 2, 3, 4));
}

// A page ends anywhere: what is behind it is not known, and comes with the next.
TEST(RetentionPlan, DecidesAPageAtATime) {
  const RetentionSettings settings{.models_kept = 3, .superseded_min = Millis(0)};
  const ModelHistory all = history_of(hourly(12), settings);
  std::vector<uint64_t> going;
  for (size_t from = 0; from < all.models.size(); from += 2) {
    const auto page = all.models.begin() + static_cast<std::ptrdiff_t>(from);
    const auto size = static_cast<std::ptrdiff_t>(std::min<size_t>(3, all.models.size() - from));
    ModelHistory part{{page, page + size}, all.kept_from, {}, {}};
    for (const uint64_t number : numbers(versions_to_forget(part, settings, at(kHour * 100)))) going.push_back(number);
  }
  EXPECT_EQ(going, numbers(versions_to_forget(all, settings, at(kHour * 100))));
}

TEST(RetentionPlan, ASettingOfNoneKeepsTheNewest) {
  const RetentionSettings settings{.models_kept = 0, .superseded_min = Millis(0), .rounds_kept = 0};
  EXPECT_THAT(numbers(versions_to_forget(history_of(hourly(3), settings), settings, at(kHour * 100))), ElementsAre(1));
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
    std::vector<ModelRecord> models = hourly(1 + prng.below(40));
    std::erase_if(models, [&](const ModelRecord& model) {
      return model.version != ModelVersion(0) && model.version != models.back().version && prng.chance(0.3);
    });
    const RetentionSettings settings{.models_kept = static_cast<uint32_t>(prng.below(10)),
                                     .models_kept_every = static_cast<uint32_t>(prng.below(6)),
                                     .superseded_min = kHour * static_cast<int>(prng.below(10))};
    ModelHistory history = history_of(std::move(models), settings);
    const auto some = [&] { return history.models[prng.below(history.models.size())].version; };
    for (uint64_t i = prng.below(4); i > 0; --i) history.released.push_back(some());
    if (prng.chance(0.5)) history.base = some();
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

TEST(RetentionPlan, ABlobOfAForgottenVersionGoesUnlessItWasPutSince) {
  EXPECT_EQ(age_to_go({numbered(1), at(kHour)}, {}, {}, at(5 * kHour)), 4 * kHour - kNamingMax);
}

TEST(RetentionPlan, ABlobOfNobodyGoesWhenItIsAsOldAsTheSetting) {
  EXPECT_EQ(age_to_go({numbered(1)}, {}, {.uploads_kept = 9 * kHour}, at(5 * kHour)), 9 * kHour);
}

// "nothing that is about to be named is removed"
TEST(RetentionPlan, KeepsWhatWasPutSinceTheOldestAttemptWasOpened) {
  const WallTime now = at(10 * kHour);
  const WallTime early = at(kHour), made = at(9 * kHour);
  EXPECT_EQ(age_to_go({numbered(1), made}, {.frozen = early}, {}, now), 9 * kHour + kBlobClockSkewMax);
  EXPECT_EQ(age_to_go({numbered(1), made}, {.collecting = early}, {}, now), kHour - kNamingMax);
  EXPECT_EQ(age_to_go({numbered(1)}, {.collecting = early}, {.uploads_kept = kHour}, now),
            9 * kHour + kBlobClockSkewMax);
  EXPECT_EQ(age_to_go({numbered(1), now}, {}, {}, now), kNamingMax) << "whoever put it may be about to name it";
}

}  // namespace
}  // namespace coterie
