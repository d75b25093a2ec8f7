#include "device_sdk/agent/count_examples.h"

#include <gtest/gtest.h>

#include <numeric>

#include "proto/codec/codec.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// Example i has the numbers i and 0, and the class i mod 3.
class Counted final : public ExampleSource {
 public:
  explicit Counted(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  Status read(uint64_t index, const Example& to) override {
    if (to.features().size() != 2) return Error(ErrorCode::invalid_argument, "examples have 2 numbers");
    ++reads_;
    to.features()[0] = static_cast<float>(index);
    to.features()[1] = 0;
    to.labels()[0] = static_cast<int32_t>(index % 3);
    return {};
  }
  uint64_t reads() const { return reads_; }

 private:
  uint64_t size_, reads_ = 0;
};

Result<std::vector<float>> count_examples(const AnalyticsRules& rules, ExampleSource& examples, uint64_t seed) {
  ExampleCounter counter(rules, examples.size(), seed);
  while (!counter.finished()) COT_TRY(counter.step(examples));
  return counter.lanes();
}

AnalyticsRules rules_for(uint32_t values_max, uint32_t lane_max) {
  return {.input_values = 2, .edges = {4, 8}, .values_max = values_max, .lane_max = lane_max};
}

TEST(CountExamples, CountsAllOfThemWhereThereIsRoom) {
  Counted examples(10);
  const auto lanes = count_examples(rules_for(10, 10), examples, 1);
  ASSERT_OK(lanes);
  EXPECT_EQ(*lanes, (std::vector<float>{4, 4, 2, 0}));
  EXPECT_EQ(*count_examples(rules_for(20, 3), examples, 2), (std::vector<float>{3, 3, 2, 0})) << "lane_max";
}

TEST(CountExamples, DrawsAsManyAsItMayAndReadsNoOthers) {
  std::vector<double> seen(4);
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Counted examples(100);
    const auto lanes = count_examples(rules_for(5, 5), examples, seed);
    ASSERT_OK(lanes);
    EXPECT_EQ(examples.reads(), 5u);
    EXPECT_EQ(std::accumulate(lanes->begin(), lanes->end(), 0.0f), 5);
    for (size_t i = 0; i < 4; ++i) seen[i] += static_cast<double>((*lanes)[i]);
    EXPECT_EQ(*count_examples(rules_for(5, 5), examples, seed), *lanes) << "the same seed draws the same";
  }
  EXPECT_NEAR(seen[0] / 2000, 0.04, 0.015);  // each example as likely as any other
  EXPECT_NEAR(seen[2] / 2000, 0.92, 0.02);
}

TEST(CountExamples, ReadsLabels) {
  Counted examples(10);
  const AnalyticsRules rules{
      .source = AnalyticsSource::label, .input_values = 2, .categories = 3, .values_max = 10, .lane_max = 10};
  EXPECT_EQ(*count_examples(rules, examples, 1), (std::vector<float>{4, 3, 3, 0}));
}

TEST(CountExamples, TellsExamplesOfAnotherSize) {
  Counted examples(10);
  AnalyticsRules rules = rules_for(1, 1);
  rules.input_values = 3;
  EXPECT_ERROR(count_examples(rules, examples, 1), ErrorCode::invalid_argument, "2 numbers");
}

TEST(CountExamples, StopsWhereExamplesHaveGone) {
  Counted ten(10), five(5);
  ExampleCounter counter(rules_for(10, 10), ten.size(), 1);
  for (int i = 0; i < 5; ++i) ASSERT_OK(counter.step(five));
  EXPECT_ERROR(counter.step(five), ErrorCode::conflict, "fewer than when the counting began");
}

TEST(CountExamples, SaysNothingOfADeviceButThatItCounted) {
  Counted none(0);
  EXPECT_EQ(*count_examples(rules_for(5, 5), none, 1), std::vector<float>(4));
  Plan plan;
  plan.analytics = rules_for(5, 5);
  const Bytes update = counted_update(plan, {.round = {RoundId(3), Attempt(2)}}, {1, 2, 3, 4});
  const auto decoded = decode_update(update);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->header.round, (RoundKey{RoundId(3), Attempt(2)}));
  EXPECT_EQ(decoded->header.value_count, 4u);
  EXPECT_EQ(decoded->header.examples, 0u);
  EXPECT_EQ(decoded->header.weight, 1u);
  EXPECT_EQ(decoded->header.loss_sum, 0);
}

}  // namespace
}  // namespace coterie
