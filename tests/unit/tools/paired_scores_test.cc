#include "tools/rollout/paired_scores.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

const std::string kScoresHeader = "device,examples,correct_before,correct_after\n";

TEST(PairedScores, AreReadInTheirOrder) {
  const auto scores = parse_paired_scores(kScoresHeader + "b,10,7,9\r\na,4,4,0\n");
  ASSERT_OK(scores);
  ASSERT_EQ(scores->size(), 2u);
  EXPECT_DOUBLE_EQ((*scores)[0].harm(), -0.2);
  EXPECT_DOUBLE_EQ((*scores)[1].harm(), 1);
  const std::string text = kScoresHeader + "b,10,7,9\na,4,4,0\n";
  const auto named = parse_named_scores(text);
  ASSERT_OK(named);
  EXPECT_EQ((*named)[0].device, "b");
  EXPECT_EQ((*named)[1].device, "a");
  EXPECT_DOUBLE_EQ((*named)[1].score.harm(), 1);
  EXPECT_TRUE(parse_paired_scores(kScoresHeader).value().empty());
  EXPECT_TRUE(parse_paired_scores("").value().empty());
}

TEST(PairedScores, NameTheLineThatIsWrong) {
  EXPECT_ERROR(parse_paired_scores("a,1,1,1\n"), ErrorCode::malformed, "line 1");
  for (const char* line :
       {"", "a", "a,1,1", "a,1,1,1,1", "a,1,1,-1", "a,1,x,1", "a,1,1,1.5", ",1,1,1", "a,99999999999,1,1", "a,1,1,1 "}) {
    EXPECT_ERROR(parse_paired_scores(kScoresHeader + "z,1,1,1\n" + line + "\n"), ErrorCode::malformed, "line 3")
        << line;
  }
  for (const char* line : {"a,0,0,0", "a,1,2,1", "a,1,1,2", "z,1,1,1"}) {
    EXPECT_ERROR(parse_paired_scores(kScoresHeader + "z,1,1,1\n" + line + "\n"), ErrorCode::invalid_argument, "line 3")
        << line;
  }
  EXPECT_ERROR(parse_paired_scores(kScoresHeader + std::string(129, 'a') + ",1,1,1\n"), ErrorCode::malformed, "line 2");
  EXPECT_ERROR(parse_paired_scores(kScoresHeader + "a,40,33,3"), ErrorCode::malformed, "line 2");
}

}  // namespace
}  // namespace coterie
