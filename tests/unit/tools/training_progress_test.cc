#include "tools/cli/training_progress.h"

#include <gmock/gmock.h>

namespace coterie::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TrainingLine, SaysWhatIsKnown) {
  const TrainingMoment moment{.epoch = 2,
                              .epochs = 30,
                              .steps = 45,
                              .steps_in_all = 900,
                              .loss = 0.41234,
                              .accuracy = 0.913,
                              .examples_per_second = 12345.6,
                              .seconds_left = 11.2};
  EXPECT_EQ(training_line(moment, {}),
            "epoch  2/30  step  45  loss  0.4123  accuracy  91.3 %  12,345 samples/s  about 12 s left");
}

TEST(TrainingLine, LeavesOutWhatIsNot) {
  const std::string line = training_line({.loss = 2.5, .examples_per_second = 8}, {});
  EXPECT_THAT(line, Not(HasSubstr("accuracy")));
  EXPECT_THAT(line, Not(HasSubstr("left")));
  EXPECT_THAT(line, HasSubstr("loss  2.5000"));
}

TEST(TrainingLine, FitsWhereTheLossRunsAway) {
  const std::string line =
      training_line({.steps = 57, .loss = 2.7626e31, .accuracy = 0.1, .examples_per_second = 8}, {});
  EXPECT_THAT(line, HasSubstr("loss 2.763e+31  accuracy"));
  EXPECT_THAT(training_line({.loss = 999'999}, {}), HasSubstr("loss 999999.0000"));
}

TEST(TrainingLine, HasABarOnALiveTerminal) {
  const TrainingMoment half{.steps = 5, .steps_in_all = 10, .loss = 1};
  EXPECT_THAT(training_line(half, {.is_live = true}), HasSubstr("##########.........."));
}

}  // namespace
}  // namespace coterie::test
