// Which way a step is run, from what each way took.
#include "device_sdk/runtime/cut_trial.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

// A period: how often the step was cut, where a cut run takes `cut` and a whole one `whole`; the first two of each way
// are slow.
uint32_t cut_runs(CutTrial& trial, float cut, float whole) {
  uint32_t count = 0;
  for (uint32_t run = 0; run < CutTrial::kPeriod; ++run) {
    EXPECT_EQ(trial.is_timed(), run < 2 * CutTrial::kTries);
    const bool cuts = trial.cuts();
    count += cuts ? 1 : 0;
    const float delay = run < 4 ? 9 : 0;
    if (trial.is_timed()) trial.ran(delay + (cuts ? cut : whole));
    else trial.ran();
  }
  return count;
}

constexpr uint32_t kTried = CutTrial::kTries, kAll = CutTrial::kPeriod - CutTrial::kTries;

TEST(CutTrial, KeepsTheFasterWay) {
  CutTrial trial;
  EXPECT_TRUE(trial.cuts());  // so that a single step is run by all threads
  EXPECT_EQ(cut_runs(trial, 1, 2), kAll);
  EXPECT_EQ(cut_runs(trial, 1, 2), kAll);
}

TEST(CutTrial, LeavesAThreadAloneThatBringsNothing) {
  CutTrial trial;
  EXPECT_EQ(cut_runs(trial, 1, 1), kTried);
  EXPECT_EQ(cut_runs(trial, 1, 1.04f), kTried);
  EXPECT_EQ(cut_runs(trial, 2, 1), kTried);
}

TEST(CutTrial, CutsUntimedToWarmUp) {
  CutTrial trial(7);
  for (int run = 0; run < 7; ++run) {
    EXPECT_TRUE(trial.cuts());
    EXPECT_FALSE(trial.is_timed());
    trial.ran();
  }
  EXPECT_EQ(cut_runs(trial, 2, 1), kTried);
}

TEST(CutTrial, ChangesItsMind) {
  CutTrial trial;
  EXPECT_EQ(cut_runs(trial, 1, 2), kAll);
  EXPECT_EQ(cut_runs(trial, 3, 2), kTried);
  EXPECT_EQ(cut_runs(trial, 1, 2), kAll);
}

}  // namespace
}  // namespace coterie
