// Who finds which version by which name.
#include "fl_server/serving/served_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using testing::ElementsAre;

class ServedModelsTest : public testing::Test {
 protected:
  void publish(const std::string& model, uint64_t number, bool promotes, std::string_view tenant = kDefaultTenant) {
    auto version = ServedVersion::load(*make_model(ModelKind::logistic, {8, 8, 1}, 10, number), number, {});
    ASSERT_OK(version);
    ASSERT_OK(models_.publish(model, *std::move(version), promotes ? Standing::promoted : Standing::latest, tenant));
  }
  // 0: nothing is found.
  uint64_t found(std::string_view model, std::string_view version = {}, std::string_view caller = kEveryTenant) const {
    const auto one = models_.find(model, version, caller);
    return one ? (*one)->number() : 0;
  }

  ServedModels models_{2};
};

TEST_F(ServedModelsTest, AreFoundByTheirTenantAndByWhoSeesAll) {
  publish("a", 1, true, "acme");
  EXPECT_EQ(found("a", "", "acme"), 1u);
  EXPECT_EQ(found("a", "", kEveryTenant), 1u);
  const auto foreign = models_.find("a", "", "other"), absent = models_.find("b", "", "other");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code(), ErrorCode::not_found);
  EXPECT_EQ(foreign.error().message(), "there is no model a") << "in the words for what does not exist";
  EXPECT_EQ(absent.error().message(), "there is no model b");
  EXPECT_FALSE(models_.choose("a", 1, 50, "other"));
  EXPECT_FALSE(models_.list("a", "other"));
}

TEST_F(ServedModelsTest, APopulationsNameStandsForWhatIsPromotedOfItsModel) {
  publish("a", 1, true, "acme");
  publish("a", 2, false);
  models_.set_aliases({{"phones", "a"}, {"ghosts", "none"}, {"a", "none"}});
  EXPECT_EQ(found("phones"), 1u);
  EXPECT_EQ(found("phones", "promoted"), 1u);
  EXPECT_EQ(found("phones", (*models_.find("a", "2"))->digest_text()), 2u);
  EXPECT_EQ(found("phones", "", "other"), 0u);
  EXPECT_EQ(found("ghosts"), 0u);
  EXPECT_EQ(found("a"), 1u) << "a model's own name goes before";
  EXPECT_ERROR(models_.find("phones", "1"), ErrorCode::not_found, "digest");
  ASSERT_OK(models_.promote("a", std::nullopt));
  EXPECT_EQ(found("phones"), 0u) << "nothing is promoted";
  EXPECT_FALSE(models_.choose("phones", 1, 50));
  EXPECT_EQ(found("a"), 2u);
}

TEST_F(ServedModelsTest, AWithdrawnVersionIsFoundNoMoreAndEndsNobodysRequest) {
  publish("a", 1, false);
  publish("a", 2, true);
  const auto held = models_.find("a", "1");
  ASSERT_OK(held);
  models_.withdraw("a", 1);
  EXPECT_ERROR(models_.find("a", "1"), ErrorCode::not_found, "there is no version 1");
  const std::vector<float> input(64);
  std::vector<float> output(10);
  EXPECT_OK((*held)->run(0, {{std::span<const float>(input)}}, 1, output));
  models_.withdraw("a", 2);
  EXPECT_ERROR(models_.find("a", ""), ErrorCode::not_found, "there is no model a");
  EXPECT_TRUE(models_.empty());
}

TEST_F(ServedModelsTest, SparesGoAndWhatIsNamedStays) {
  publish("a", 1, true);
  publish("a", 2, false);
  publish("a", 3, false);
  const uint64_t before = models_.bytes();
  EXPECT_EQ(models_.drop_spares(), 1u);
  EXPECT_LT(models_.bytes(), before);
  const LoadedModels loaded = models_.loaded();
  EXPECT_THAT(loaded.at("a").versions, ElementsAre(1, 3));
  EXPECT_EQ(models_.drop_spares(), 0u);
}

TEST_F(ServedModelsTest, WhatIsNotPromotedMakesRoomTheLargestCandidateFirst) {
  publish("alone", 5, false);
  publish("a", 1, true);
  publish("a", 2, false);
  EXPECT_EQ(models_.drop_unpromoted(), (std::pair<std::string, uint64_t>("a", 2))) << "applications do not use it";
  EXPECT_EQ(models_.drop_unpromoted(), (std::pair<std::string, uint64_t>("alone", 5)));
  EXPECT_EQ(models_.drop_unpromoted(), std::nullopt);
  EXPECT_EQ(found("a"), 1u);
  EXPECT_FALSE(models_.list("alone"));
}

TEST_F(ServedModelsTest, NothingAnswersInPlaceOfAPromotedVersionThatIsNotHere) {
  publish("a", 2, false);
  models_.withhold("a");
  for (const auto& answer : {models_.find("a", ""), models_.find("a", "promoted")})
    EXPECT_ERROR(answer, ErrorCode::unavailable, "model a: the promoted version is not loaded");
  const auto chosen = models_.choose("a", 1, 100);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(found("a", "latest"), 2u) << "who names it gets it";
  EXPECT_TRUE(models_.loaded().at("a").is_released);
  publish("a", 1, true);
  EXPECT_EQ(found("a"), 1u);
}

}  // namespace
}  // namespace coterie
