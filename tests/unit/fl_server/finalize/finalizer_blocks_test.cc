// A table with a block for each round: a sum goes to its own, and the job ends where the counts leave nothing to ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/codec/analytics_table.h"
#include "scheduler/job/analytics_rules.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;
using testing::Each;
using testing::ElementsAre;

constexpr uint32_t kRounds = 3;

// Strings of a and b: of each of two prefixes a lane for a, for b, and for the end.
AnalyticsSettings looking() {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::heavy_hitters, .input_values = kRounds};
  analytics.rules.hitters = HitterRules{.length_max = kRounds, .alphabet = {'a', 'b'}, .prefixes_max = 2};
  analytics.threshold = 2;
  return analytics;
}

class FinalizerBlocks : public testing::Test {
 protected:
  Result<CountBlocks> count(const std::vector<TestUpdate>& updates) {
    round_.add_partial("node-0/1/" + std::to_string(round_.round_.number), updates);
    finalized_ = round_.finalize();
    if (!finalized_) return finalized_.error();
    return read_blocks(rules_of(looking()), kRounds, round_.blobs_.bytes_of(finalized_->model.digest));
  }

  FrozenRound round_{StrategySettings::of("fedavg"), new_table(rules_of(looking()), kRounds),
                     [](HorizontalSettings& settings) {
                       settings.analytics = looking();
                       set_defaults(*settings.analytics, settings);
                     }};
  Result<FinalizedRound> finalized_ = Error(ErrorCode::internal, "nothing was finalized");
};

TEST_F(FinalizerBlocks, EachRoundAddsToItsOwn) {
  auto blocks = count({{{1, 0, 0, 0, 0, 0}}, {{1, 0, 0, 0, 0, 0}}, {{0, 1, 0, 0, 0, 0}}});
  ASSERT_OK(blocks);
  EXPECT_THAT((*blocks)[0], ElementsAre(2, 1, 0, 0, 0, 0)) << "the sum, undivided";
  EXPECT_THAT((*blocks)[1], Each(0));
  EXPECT_FALSE(finalized_->is_last) << "a goes on";
  round_.commit(*finalized_);

  blocks = count({{{0, 0, 1, 0, 0, 0}}, {{0, 0, 1, 0, 0, 0}}});
  ASSERT_OK(blocks);
  EXPECT_THAT((*blocks)[0], ElementsAre(2, 1, 0, 0, 0, 0)) << "as it was";
  EXPECT_THAT((*blocks)[1], ElementsAre(0, 0, 2, 0, 0, 0));
  EXPECT_THAT((*blocks)[2], Each(0));
  EXPECT_TRUE(finalized_->is_last) << "every a ends there";
}

TEST_F(FinalizerBlocks, NothingFrequentIsNothingLeft) {
  ASSERT_OK(count({{{1, 0, 0, 0, 0, 0}}, {{0, 1, 0, 0, 0, 0}}}));
  EXPECT_TRUE(finalized_->is_last);
}

TEST_F(FinalizerBlocks, ThereIsNoneBehindTheLast) {
  round_.base_.version = ModelVersion(kRounds);
  EXPECT_ERROR(count({{{1, 0, 0, 0, 0, 0}}}), ErrorCode::data_loss, "not of the job's table");
}

}  // namespace
}  // namespace coterie
