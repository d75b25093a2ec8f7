#include "fl_server/serving/serving_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

using Registered = std::vector<RegisteredModel>;

RegisteredModel model(const std::string& job, std::vector<uint64_t> versions, std::optional<uint64_t> promoted = {},
                      int64_t promoted_at = 0, const std::string& population = "phones") {
  return {job, population, std::move(versions), promoted, wall_time_from_unix_ms(promoted_at)};
}

std::vector<std::string> names_of(const Registered& models) {
  std::vector<std::string> names;
  for (const RegisteredModel& model : models) names.push_back(model.job);
  return names;
}

TEST(JobsToServe, AreThoseWithAReleaseWhateverOthersTryOut) {
  Registered all{model("old", {}, 1, 100, "phones"), model("older", {}, 1, 50, "phones"),
                 model("tv", {}, 7, 10, "sets")};
  for (int i = 0; i < 20; ++i) all.push_back(model("try" + std::to_string(i), {}, {}, 0, "acme"));
  EXPECT_THAT(names_of(jobs_to_serve(all, 5)), ElementsAre("old", "tv", "older", "try19", "try18"));
  EXPECT_THAT(names_of(jobs_to_serve(all, 2)), ElementsAre("old", "tv")) << "what each population's name stands for";
  EXPECT_THAT(names_of(jobs_to_serve(all, 1)), ElementsAre("old"));
  EXPECT_EQ(jobs_to_serve(all, 1'000).size(), all.size());
  EXPECT_THAT(jobs_to_serve({}, 3), IsEmpty());
}

TEST(VersionsToLoad, AreThePromotedOnesAndThenTheNewest) {
  const Registered registered{model("b", {0, 1, 2}), model("a", {3, 4, 5}, 3)};
  EXPECT_THAT(versions_to_load(registered, {}, {}),
              ElementsAre(VersionToLoad{"a", 3, true}, VersionToLoad{"b", 2, false}, VersionToLoad{"a", 5, false}));
  const LoadedModels loaded{{"a", {{3}, 3}}, {"b", {{2}, {}}}};
  EXPECT_THAT(versions_to_load(registered, loaded, {}), ElementsAre(VersionToLoad{"a", 5, false}));
}

TEST(VersionsToLoad, HaveTheNewestOnceWhereItIsPromoted) {
  EXPECT_THAT(versions_to_load(Registered{model("a", {1, 2}, 2)}, {}, {}), ElementsAre(VersionToLoad{"a", 2, true}));
}

TEST(VersionsToLoad, LeaveOutWhatCannotBeLoadedAndWhatTheRegistryHasNot) {
  const Registered registered{model("a", {1, 2}, 1), model("b", {}), model("c", {4}, 3)};
  EXPECT_THAT(versions_to_load(registered, {}, {{"a", 2}}),
              ElementsAre(VersionToLoad{"a", 1, true}, VersionToLoad{"c", 4, false}));
}

TEST(ModelsToRemove, AreThoseThatAreFollowedNoMore) {
  const LoadedModels loaded{{"a", {{1}, {}}}, {"gone", {{1}, 1}}};
  EXPECT_THAT(models_to_remove(Registered{model("a", {1})}, loaded), ElementsAre("gone"));
}

TEST(NamesToAnswerTo, PromoteWhatIsThere) {
  const LoadedModels loaded{{"a", {{1, 2}, 1}}};
  EXPECT_THAT(names_to_answer_to(Registered{model("a", {1, 2}, 2)}, loaded, {}).promotions,
              ElementsAre(Promotion{"a", 2}));
  EXPECT_THAT(names_to_answer_to(Registered{model("a", {1, 2}, 1)}, loaded, {}).promotions, IsEmpty());
  EXPECT_THAT(names_to_answer_to(Registered{model("a", {1, 2})}, loaded, {}).promotions,
              ElementsAre(Promotion{"a", std::nullopt}));
  EXPECT_THAT(names_to_answer_to(Registered{model("a", {1, 2, 3}, 3)}, loaded, {}).promotions, IsEmpty())
      << "until it is loaded the one before it goes on";
}

TEST(NamesToAnswerTo, WithholdWhatNobodyHasReleasedWhenThePromotedOneCannotBeLoaded) {
  const Registered registered{model("a", {1, 2}, 1)};
  const LoadedModels newest{{"a", {{2}, {}}}};
  EXPECT_THAT(names_to_answer_to(registered, newest, {}).withheld, IsEmpty()) << "it is on its way";
  EXPECT_THAT(names_to_answer_to(registered, newest, {{"a", 1}}).withheld, ElementsAre("a"));
  EXPECT_THAT(names_to_answer_to(registered, {{"a", {{2}, {}, true}}}, {{"a", 1}}).withheld, IsEmpty()) << "it is so";
  EXPECT_THAT(names_to_answer_to(registered, {{"a", {{0, 2}, 0, true}}}, {{"a", 1}}).withheld, IsEmpty())
      << "one that was promoted before goes on";
  EXPECT_THAT(names_to_answer_to(Registered{model("a", {1, 2})}, {{"a", {{2}, {}, true}}}, {}).promotions,
              ElementsAre(Promotion{"a", std::nullopt}))
      << "none is promoted any more";
}

TEST(NamesToAnswerTo, WithdrawOnlyWhenWhatComesInItsPlaceIsThere) {
  const Registered registered{model("a", {3})};
  const LoadedModels loaded{{"a", {{1, 2}, {}}}};
  EXPECT_THAT(names_to_answer_to(registered, loaded, {}).withdrawn, ElementsAre(VersionToWithdraw{"a", 1}));
  EXPECT_THAT(names_to_answer_to(registered, loaded, {{"a", 3}}).withdrawn,
              ElementsAre(VersionToWithdraw{"a", 1}, VersionToWithdraw{"a", 2}))
      << "it does not come";
}

TEST(NamesToAnswerTo, WithdrawWhatTheRegistryHasNoMore) {
  const ServingNames names =
      names_to_answer_to(Registered{model("a", {2, 4}, 2)}, {{"a", {{1, 2, 3, 4}, 2, true}}}, {});
  EXPECT_THAT(names.withdrawn, ElementsAre(VersionToWithdraw{"a", 1}, VersionToWithdraw{"a", 3}));
}

TEST(NamesToAnswerTo, GiveAPopulationsNameToWhatWasPromotedLast) {
  const Registered registered{model("new", {1}), model("b", {1, 2}, 2, 200), model("a", {5}, 5, 300),
                              model("tv", {1}, 1, 100, "sets")};
  LoadedModels loaded{{"new", {{1}, {}}}, {"b", {{2}, 2}}, {"a", {{5}, 5}}, {"tv", {{1}, 1}}};
  EXPECT_THAT(names_to_answer_to(registered, loaded, {}).aliases,
              UnorderedElementsAre(Pair("phones", "a"), Pair("sets", "tv")));
  loaded["a"].promoted.reset();
  loaded["a"].versions = {4};
  EXPECT_THAT(names_to_answer_to(registered, loaded, {}).aliases, Contains(Pair("phones", "b")))
      << "what cannot be loaded does not take the name";
  EXPECT_THAT(names_to_answer_to(Registered{model("new", {1})}, loaded, {}).aliases, IsEmpty())
      << "nothing is promoted: nothing answers to the population";
}

// Whatever the registry does, who carries out the plan ends where the registry is, and in between a promoted model
// always has a promoted version that answers.
TEST(ServingPlan, CarriedOutEndsWhereTheRegistryIs) {
  constexpr uint64_t kSeed = 20261128;
  constexpr uint64_t kSteps = 3'000;
  Prng prng(kSeed);
  RegisteredModel now = model("a", {0});
  LoadedModels loaded;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const uint64_t what = prng.below(4);
    if (what == 0) now.versions.push_back(now.versions.back() + 1);
    if (what == 1) now.promoted = now.versions[prng.below(now.versions.size())];
    if (what == 2 && now.versions.size() > 1) {
      const size_t which = prng.below(now.versions.size() - 1);  // never the newest, nor the promoted one
      if (now.versions[which] != now.promoted) now.versions.erase(now.versions.begin() + static_cast<ptrdiff_t>(which));
    }
    const Registered registered{now};
    const bool had_promoted = loaded.contains("a") && loaded["a"].promoted.has_value();
    for (const VersionToLoad& wanted : versions_to_load(registered, loaded, {})) {
      LoadedModel& there = loaded[wanted.job];
      ASSERT_TRUE(there.versions.insert(wanted.version).second) << "loaded twice, seed " << kSeed << " step " << step;
      if (wanted.promotes) there.promoted = wanted.version;
      there.is_released = there.is_released || now.promoted;
    }
    const ServingNames names = names_to_answer_to(registered, loaded, {});
    for (const Promotion& promotion : names.promotions) {
      ASSERT_TRUE(!promotion.version || loaded[promotion.job].versions.contains(*promotion.version));
      loaded[promotion.job].promoted = promotion.version;
      loaded[promotion.job].is_released = promotion.version.has_value();
    }
    for (const auto& [job, version] : names.withdrawn) {
      ASSERT_NE(loaded[job].promoted, version) << "an answering version is taken away, step " << step;
      loaded[job].versions.erase(version);
    }
    const LoadedModel& end = loaded["a"];
    ASSERT_EQ(end.promoted, now.promoted) << "seed " << kSeed << " step " << step;
    ASSERT_TRUE(!had_promoted || end.promoted) << "seed " << kSeed << " step " << step;
    ASSERT_TRUE(end.versions.contains(now.versions.back()));
    ASSERT_EQ(names.aliases.size(), now.promoted ? 1u : 0u);
    for (const uint64_t version : end.versions)
      ASSERT_TRUE(std::ranges::find(now.versions, version) != now.versions.end());
  }
}

}  // namespace
}  // namespace coterie
