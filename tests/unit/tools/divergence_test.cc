// When a demo says that its job is worse than a guess.
#include "tools/demo/divergence.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

RoundReport round_with(uint64_t number, std::optional<double> accuracy, std::optional<double> r2 = {}) {
  RoundReport round{.number = number, .attempt = 1, .state = "done"};
  round.evaluation_accuracy = accuracy;
  round.evaluation_r2 = r2;
  return round;
}

TEST(Divergence, IsNoticedWhenAThirdOfTheRoundsIsOver) {
  const GuessLevel guess{.accuracy = 0.4, .r2 = {}};
  EXPECT_THAT(divergence_note(round_with(3, 0.1), 10, guess), IsEmpty()) << "4 of 10 is the first";
  EXPECT_THAT(
      divergence_note(round_with(4, 0.1), 10, guess),
      HasSubstr("worse than a guess after round 4: accuracy 10.0 %, always saying the most frequent class 40.0 %"));
  EXPECT_THAT(divergence_note(round_with(4, 0.4), 10, guess), IsEmpty()) << "as good is not worse";
  EXPECT_THAT(divergence_note(round_with(1, 0.1), 1, guess), HasSubstr("after round 1"));
}

TEST(Divergence, IsJudgedByR2WhereTheTargetIsANumber) {
  const GuessLevel guess{.accuracy = 0, .r2 = -0.02};
  EXPECT_THAT(divergence_note(round_with(4, {}, -3.5), 10, guess),
              HasSubstr("R2 -3.500, always saying the mean -0.020"));
  EXPECT_THAT(divergence_note(round_with(4, {}, 0.01), 10, guess), IsEmpty());
}

TEST(Divergence, IsOfRoundsThatWereJudged) {
  const GuessLevel guess{.accuracy = 0.4, .r2 = {}};
  EXPECT_THAT(divergence_note(round_with(9, {}), 10, guess), IsEmpty());
  RoundReport failed = round_with(9, 0.1);
  failed.state = "failed";
  EXPECT_THAT(divergence_note(failed, 10, guess), IsEmpty());
}

}  // namespace
}  // namespace coterie
