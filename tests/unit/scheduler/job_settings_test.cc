#include "scheduler/job/job_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;

JobSettings digits() {
  JobSettings settings;
  settings.common.name = "digits";
  return settings;
}

TEST(JobSettings, AreHorizontalAndNeedNoMoreThanAName) {
  EXPECT_THAT(validate(digits()), IsEmpty());
  EXPECT_EQ(digits().horizontal(), HorizontalSettings());
}

TEST(JobSettings, NamesTheCommonFieldThatIsWrong) {
  const std::pair<const char*, CommonSettings> wrong[] = {
      {"/name", {.name = ""}},
      {"/name", {.name = std::string(129, 'n')}},
      {"/population", {.name = "n", .population = Population("")}},
      {"/population", {.name = "n", .population = Population(std::string(65, 'p'))}},
      {"/weight", {.name = "n", .weight = 0}},
      {"/weight", {.name = "n", .weight = 1'001}},
  };
  for (const auto& [pointer, common] : wrong) {
    EXPECT_THAT(pointers_of(validate({.common = common, .kind = {}})), ElementsAre(pointer));
  }
  const CommonSettings largest{
      .name = std::string(128, 'n'), .population = Population(std::string(64, 'p')), .weight = 1'000};
  EXPECT_THAT(validate({.common = largest, .kind = {}}), IsEmpty());
}

TEST(JobSettings, ReportsWhatIsWrongInBothPartsTheCommonOneFirst) {
  JobSettings settings;
  settings.horizontal().rounds.count = 0;
  settings.common.weight = 0;
  EXPECT_THAT(pointers_of(validate(settings)), ElementsAre("/name", "/weight", "/rounds/count"));
}

TEST(JobSettings, DifferIfEitherPartDoes) {
  JobSettings other_name = digits(), other_rounds = digits();
  EXPECT_EQ(digits(), other_name);
  other_name.common.name = "letters";
  other_rounds.horizontal().rounds.count = 11;
  EXPECT_NE(digits(), other_name);
  EXPECT_NE(digits(), other_rounds);
}

TEST(JobSettings, HaveNoiseWhoeverAddsIt) {
  JobSettings settings = digits();
  EXPECT_FALSE(has_noise(settings));
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    settings.horizontal().privacy.level = level;
    settings.horizontal().privacy.noise_multiplier = 1;
    EXPECT_TRUE(has_noise(settings)) << to_string(level);
  }
}

}  // namespace
}  // namespace coterie
