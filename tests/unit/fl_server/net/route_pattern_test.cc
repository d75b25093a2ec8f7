#include "fl_server/net/route_pattern.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(RoutePattern, GivesTheParametersOfAPath) {
  PathParameters path;
  ASSERT_TRUE(matches_pattern("/v1/rounds/{round}/updates/{ticket}", "/v1/rounds/7/updates/abc-_", path));
  EXPECT_EQ(path["round"], "7");
  EXPECT_EQ(path["ticket"], "abc-_");
  EXPECT_EQ(path["what"], "") << "the pattern has none of this name";
  EXPECT_EQ(path.end() - path.begin(), 2);
}

TEST(RoutePattern, EndsAParameterWhereAVerbBegins) {
  PathParameters path;
  ASSERT_TRUE(matches_pattern("/jobs/{job}:pause", "/jobs/j1:pause", path));
  EXPECT_EQ(path["job"], "j1");
  EXPECT_FALSE(matches_pattern("/jobs/{job}", "/jobs/j1:pause", path));
  EXPECT_FALSE(matches_pattern("/jobs/{job}:pause", "/jobs/j1:pause:pause", path));
}

TEST(RoutePattern, MatchesWholePathsAlone) {
  PathParameters path;
  for (const char* other : {"", "/", "/v1", "/v1/plans", "/v1/plans/", "/v1/plans/a/", "/v1/plans/a/b", "/v1/plansa",
                            "/V1/plans/a", "v1/plans/a", "/v1/plans//a"}) {
    EXPECT_FALSE(matches_pattern("/v1/plans/{digest}", other, path)) << other;
  }
  EXPECT_TRUE(matches_pattern("/healthz", "/healthz", path));
  EXPECT_FALSE(matches_pattern("/healthz", "/healthz/", path));
}

}  // namespace
}  // namespace coterie
