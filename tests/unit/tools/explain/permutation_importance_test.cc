// Features that a model reads lose it something when they are shuffled, the others nothing.
#include <gmock/gmock.h>

#include "device_sdk/runtime/train_options.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/permutation_importance.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;

const LossSettings kLabels = {.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels};

// Labels that the planted model gives itself.
Examples labelled(size_t features) {
  Examples examples(300, features, 2);
  for (uint64_t i = 0; i < examples.size(); ++i) {
    const float* x = examples.values().data() + i * features;
    examples.set_label(i, kRise * x[2] + kFall * x[5] + kOffset > 5 ? 0 : 1);
  }
  return examples;
}

TEST(PermutationImportance, IsOfTheColumnsThatTheModelReads) {
  const Model model = planted_sum({8}, 2, 5);
  Examples examples = labelled(8);
  const std::vector<Feature> features = features_of({8}, nullptr);
  const Result<PermutationImportance> made = permutation_importance(model, kLabels, examples, features, 4, 1);
  ASSERT_OK(made);
  ASSERT_EQ(made->features.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const double rise = made->features[i].loss_rise;
    EXPECT_TRUE(i == 2 || i == 5 ? rise > 0.1 : rise == 0) << i << " " << rise;
    EXPECT_EQ(made->features[i].error_rise, 0) << "all answers stay the same";
  }
  EXPECT_GT(made->features[2].loss_rise, made->features[5].loss_rise);
  EXPECT_GT(made->features[2].deviation, 0);
}

// The values of one feature move together: what they say of each other stays.
TEST(PermutationImportance, ShufflesTheValuesOfAFeatureTogether) {
  const Model model = planted_sum({8}, 2, 5);
  Examples examples = labelled(8);
  const std::vector<Feature> apart = {{"two", 2, 1}, {"rest", 3, 5}}, one = {{"both", 2, 4}};
  const Result<PermutationImportance> alone = permutation_importance(model, kLabels, examples, apart, 3, 1);
  const Result<PermutationImportance> both = permutation_importance(model, kLabels, examples, one, 3, 1);
  ASSERT_OK(alone);
  ASSERT_OK(both);
  EXPECT_GT(both->features[0].loss_rise, alone->features[0].loss_rise);
}

TEST(PermutationImportance, HasLimits) {
  const Model model = planted_sum({8}, 2, 5);
  Examples examples(3, 8, 2);
  const std::vector<Feature> many(kPermutedFeaturesMax + 1, Feature{"x", 0, 1});
  EXPECT_EQ(permutation_importance(model, kLabels, examples, many, 1, 1).error().code(), ErrorCode::too_large);
}

TEST(FeatureNames, AreColumnsPlacesOrNumbers) {
  InputContract contract;
  contract.columns = {{.name = "age", .missing = 2}, {.name = "job", .is_category = true, .values = {"clerk", "cook"}}};
  EXPECT_THAT(value_names({4}, &contract), ElementsAre("age", "age is missing", "job=clerk", "job=cook"));
  const std::vector<Feature> features = features_of({4}, &contract);
  ASSERT_EQ(features.size(), 2u);
  EXPECT_EQ(features[1].name, "job");
  EXPECT_EQ(features[1].first, 2u);
  EXPECT_EQ(features[1].count, 2u);
  const std::vector<Feature> numbers = number_features({4}, &contract);
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers[0].name, "age");
  EXPECT_EQ(number_features({3}, &contract).size(), 3u);
  EXPECT_THAT(value_names({3}, &contract), ElementsAre("x1", "x2", "x3")) << "it is of another table";
  EXPECT_THAT(value_names({2, 2, 1}, nullptr), ElementsAre("0,0", "0,1", "1,0", "1,1"));
  EXPECT_THAT(value_names({1, 2, 2}, nullptr), ElementsAre("0,0,0", "0,0,1", "0,1,0", "0,1,1"));
  EXPECT_THAT(value_names({2, 2}, nullptr), ElementsAre("0,0", "0,1", "1,0", "1,1"));
}

}  // namespace
}  // namespace coterie::test
