#include "scheduler/job/weight_share.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/round_terms.h"

namespace coterie {
namespace {

double share_of(uint64_t weight, uint32_t goal_count, uint64_t median) {
  const double others = static_cast<double>(goal_count - 1) * static_cast<double>(median);
  return static_cast<double>(weight) / (static_cast<double>(weight) + others);
}

TEST(WeightShare, IsTheLargestWeightThatHasIt) {
  EXPECT_EQ(weight_max_for_share(0.1, 20, 9), 19u) << "19 of 19 + 19 * 9 is a tenth, to the last bit";
  EXPECT_EQ(weight_max_for_share(0.1, 20, 1), 2u);
  EXPECT_EQ(weight_max_for_share(0.5, 2, 7), 7u);
  Prng prng(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto goal = static_cast<uint32_t>(2 + prng.below(1'000'000));
    const uint64_t median = 1 + prng.below(uint64_t{1} << prng.below(20));
    const double share = 1.0 / goal + (1 - 1.0 / goal) * prng.uniform() * 0.999;
    const uint64_t weight = weight_max_for_share(share, goal, median);
    ASSERT_LE(share_of(weight, goal, median), share * (1 + 1e-12)) << goal << " " << median << " " << share;
    ASSERT_GE(share_of(weight + 1, goal, median), share * (1 - 1e-12)) << goal << " " << median << " " << share;
  }
}

TEST(WeightShare, IsNeverBelowOneNorBeyondWhatADoubleCounts) {
  EXPECT_EQ(weight_max_for_share(0.001, 2, 1), 1u);
  EXPECT_EQ(weight_max_for_share(0.5, 1, 1), 1u) << "alone";
  EXPECT_GE(weight_max_for_share(0.999, 1'000'000, UINT64_MAX), uint64_t{1} << 53);
}

TEST(LowerMedian, IsTheLowerOfTwo) {
  EXPECT_EQ(lower_median({}), 0u);
  EXPECT_EQ(lower_median({7}), 7u);
  EXPECT_EQ(lower_median({9, 1}), 1u);
  EXPECT_EQ(lower_median({5, UINT64_MAX, 3}), 5u);
  EXPECT_EQ(lower_median({8, 2, 6, 4}), 4u);
}

HorizontalSettings plain_job() {
  HorizontalSettings job;
  job.privacy.level = SecurityLevel::none;
  job.rounds.goal_count = 20;
  job.training.local_epochs = 3;
  job.update.weight_share_max = 0.1;
  return job;
}

TEST(WeightShare, IsATenthByDefaultWhereTheServerSeesUpdatesAndThereAreEnough) {
  HorizontalSettings job = plain_job();
  EXPECT_EQ(default_weight_share_max(job), 0.1);
  job.rounds.goal_count = 19;
  EXPECT_EQ(default_weight_share_max(job), 1);
  job = plain_job();
  job.privacy.level = SecurityLevel::masked;
  EXPECT_EQ(default_weight_share_max(job), 1);
  job = plain_job();
  job.update.weight_max = 1;
  EXPECT_EQ(default_weight_share_max(job), 1);
}

TEST(WeightShare, MakesTheWeightMaxOfTheRound) {
  HorizontalSettings job = plain_job();
  EXPECT_EQ(terms_of(job, {.number = 1}).weight_max, 2u) << "nothing is known: everybody has 1 at least";
  EXPECT_EQ(terms_of(job, {.number = 2, .ledger = {}, .examples_median = 299}).weight_max, 209u)
      << "99 examples in 3 epochs: 209 of 209 + 19 * 99";
  EXPECT_EQ(terms_of(job, {.number = 2, .ledger = {}, .examples_median = UINT64_MAX}).weight_max, 16'384u)
      << "never more than the job says";
  job.update.weight_share_max = 1;
  EXPECT_EQ(terms_of(job, {.number = 1}).weight_max, 16'384u);
}

// The precision of lanes stays the job's: whoever sums needs to know nothing of the round.
TEST(WeightShare, ChangesNothingElseInThePlan) {
  const HorizontalSettings job = plain_job();
  const Plan whole = plan_of(job, JobId("job"), 100);
  Plan expected = whole;
  expected.update.fixed_point.weight_max = 2;
  EXPECT_EQ(with_terms(whole, terms_of(job, {.number = 1})), expected);
  EXPECT_TRUE(validate(expected));
}

TEST(WeightShare, BelowThatOfDevicesThatWeighAlikeIsRefused) {
  HorizontalSettings job = plain_job();
  const auto is_refused = [&](double share) {
    job.update.weight_share_max = share;
    for (const Problem& problem : validate(job)) {
      if (problem.pointer == "/update/weight_share_max") return true;
    }
    return false;
  };
  for (const double share : {0.05, 0.1, 1.0}) EXPECT_FALSE(is_refused(share)) << share;
  for (const double share : {0.049, 0.0, -1.0, 1.01, std::nan("")}) EXPECT_TRUE(is_refused(share)) << share;
}

}  // namespace
}  // namespace coterie
