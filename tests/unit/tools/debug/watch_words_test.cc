#include "tools/debug/watch_words.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

Result<std::vector<WatchedCheck>> checks(std::string_view line) {
  const Result<std::optional<DebugCommand>> command = parse_debug_command(line);
  EXPECT_OK(command);
  return checks_of(**command);
}

std::string refusal(std::string_view line) {
  const Result<std::vector<WatchedCheck>> made = checks(line);
  EXPECT_FALSE(made) << line;
  return made ? "" : made.error().message();
}

TEST(WatchWords, AreTheChecksOfWatchFiles) {
  for (const Check& check : all_checks()) {
    const Result<std::vector<WatchedCheck>> made = checks("watch " + std::string(check.name));
    if (!made) {
      EXPECT_THAT(made.error().message(), HasSubstr("needs one of")) << check.name;
      continue;
    }
    ASSERT_EQ(made->size(), 1u);
    EXPECT_EQ((*made)[0].check, &check);
    EXPECT_EQ((*made)[0].values, standard_values(check));
  }
}

TEST(WatchWords, TakePatternsSettingsAndAThresholdAlone) {
  const auto made = checks("watch weight_change_too_large on conv* 0.5 from_step 20 steps 3");
  ASSERT_OK(made);
  const WatchedCheck& watched = (*made)[0];
  EXPECT_EQ(watched.tensors, "conv*");
  EXPECT_EQ(watched.values[0], 0.5);
  EXPECT_EQ(watched.from_step, 20u);
  EXPECT_EQ(watched.steps, 3u);
  EXPECT_EQ(words_of(watched), "weight_change_too_large on conv* ratio_above 0.5 from_step 20 steps 3");
  EXPECT_OK(checks("watch tensor_too_large on \"quo\\te\" max_above -3"));
}

TEST(WatchWords, TakeTheRecommendedOnes) {
  const auto made = checks("watch recommended");
  ASSERT_OK(made);
  EXPECT_EQ(made->size(), recommended_watch().checks.size());
  EXPECT_THAT(refusal("watch recommended on conv*"), HasSubstr("takes no pattern"));
  EXPECT_THAT(refusal("watch recommended steps 3"), HasSubstr("takes no pattern and no setting"));
}

TEST(WatchWords, RefuseAsWatchFilesDo) {
  EXPECT_THAT(refusal("watch dead_rellu"), HasSubstr("did you mean `dead_relu`?"));
  EXPECT_THAT(refusal("watch dead_relu 7"), HasSubstr("dead_share_above: must be a number in [0, 1]"));
  EXPECT_THAT(refusal("watch dead_relu ratio_above 7"), HasSubstr("ratio_above"));
  EXPECT_THAT(refusal("watch tensor_too_large 3"), HasSubstr("takes a number behind one of mean_magnitude_above"));
  EXPECT_THAT(refusal("watch weight_overflow 3"), HasSubstr("takes no threshold"));
  EXPECT_EQ(refusal("watch dead_relu 7").find("/checks"), std::string::npos);
}

}  // namespace
}  // namespace coterie::test
