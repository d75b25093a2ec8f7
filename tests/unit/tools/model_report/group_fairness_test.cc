// Fairness by group, against what is counted by hand.
#include "tools/model_report/group_fairness.h"

#include <gmock/gmock.h>

#include <cmath>

namespace coterie::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const GroupFairness& fairness) {
  std::vector<std::string> names;
  for (const GroupScore& group : fairness.groups) names.push_back(group.name);
  return names;
}

// So many answers of one group: labelled and said positive, labelled positive alone, said alone, neither.
struct Counts {
  std::string group;
  int true_positive = 0, false_negative = 0, false_positive = 0, true_negative = 0;
};

GroupFairness judged(const std::vector<Counts>& counts, uint64_t examples_min = 1, double error = 0.5) {
  std::vector<std::string> values;
  for (const Counts& of : counts) {
    const int all = of.true_positive + of.false_negative + of.false_positive + of.true_negative;
    values.insert(values.end(), static_cast<size_t>(all), of.group);
  }
  GroupAnswers answers(make_groups("sex", values, examples_min), 1);
  const auto add = [&](int times, uint32_t said, uint32_t label) {
    for (int i = 0; i < times; ++i) answers.add(said, label, error);
  };
  for (const Counts& of : counts) {
    add(of.true_positive, 1, 1);
    add(of.false_negative, 0, 1);
    add(of.false_positive, 1, 0);
    add(of.true_negative, 0, 0);
  }
  return answers.judged(7);
}

// a: 8 of 10 right, 5 selected, 4 of 5 true, 1 of 5 false. b: 12 of 20 right, 4 selected, 3 of 10 true, 1 of 10 false.
TEST(GroupFairness, IsWhatIsCountedByHand) {
  const GroupFairness fairness = judged({{"a", 4, 1, 1, 4}, {"b", 3, 7, 1, 9}});
  EXPECT_THAT(names_of(fairness), ElementsAre("a", "b"));
  EXPECT_EQ(fairness.groups[0].correct, (SeenShare{8, 10}));
  EXPECT_EQ(fairness.groups[0].selection, (SeenShare{5, 10}));
  EXPECT_EQ(fairness.groups[0].true_positives, (SeenShare{4, 5}));
  EXPECT_EQ(fairness.groups[0].false_positives, (SeenShare{1, 5}));
  EXPECT_EQ(fairness.groups[1].correct, (SeenShare{12, 20}));
  EXPECT_EQ(fairness.groups[1].selection, (SeenShare{4, 20}));
  EXPECT_EQ(fairness.groups[1].true_positives, (SeenShare{3, 10}));
  EXPECT_EQ(fairness.groups[1].false_positives, (SeenShare{1, 10}));
  EXPECT_NEAR(fairness.gap(GapKind::accuracy)->value, 0.2, 1e-12);
  EXPECT_NEAR(fairness.gap(GapKind::demographic_parity)->value, 0.3, 1e-12);
  EXPECT_NEAR(fairness.gap(GapKind::equal_opportunity)->value, 0.5, 1e-12);
  EXPECT_NEAR(fairness.gap(GapKind::equalised_odds)->value, 0.5, 1e-12) << "of false positives it is .1";
  EXPECT_NEAR(fairness.gap(GapKind::error)->value, 0, 1e-12);
  EXPECT_NEAR(*fairness.selection_ratio, 0.4, 1e-12);
  EXPECT_EQ(fairness.worst, 1u);
}

TEST(GroupFairness, FalsePositivesMayBeTheLargerGapOfOdds) {
  const GroupFairness fairness = judged({{"a", 4, 1, 0, 10}, {"b", 4, 1, 6, 4}});
  EXPECT_NEAR(fairness.gap(GapKind::equal_opportunity)->value, 0, 1e-12);
  EXPECT_NEAR(fairness.gap(GapKind::equalised_odds)->value, 0.6, 1e-12);
}

TEST(GroupFairness, ThreeGroupsAreAsFarApartAsTheFarthest) {
  const GroupFairness fairness = judged({{"a", 5, 5, 0, 0}, {"b", 9, 1, 0, 0}, {"c", 2, 8, 0, 0}});
  EXPECT_NEAR(fairness.gap(GapKind::equal_opportunity)->value, 0.7, 1e-12);
  EXPECT_FALSE(fairness.gap(GapKind::equalised_odds)) << "nobody is labelled otherwise";
  EXPECT_EQ(fairness.worst, 2u);
}

TEST(GroupFairness, WhereGroupsAreAlikeChanceDoesAsMuch) {
  const GroupFairness alike = judged({{"a", 30, 20, 10, 40}, {"b", 30, 20, 10, 40}});
  EXPECT_DOUBLE_EQ(alike.gap(GapKind::accuracy)->value, 0);
  EXPECT_DOUBLE_EQ(alike.gap(GapKind::accuracy)->p, 1) << "every shuffle is as far apart";
  EXPECT_GT(alike.gap(GapKind::accuracy)->chance, 0);
  const GroupFairness apart = judged({{"a", 50, 0, 0, 50}, {"b", 25, 25, 25, 25}});
  EXPECT_DOUBLE_EQ(apart.gap(GapKind::accuracy)->p, 1.0 / (1 + kGroupShuffles)) << "no shuffle is";
  EXPECT_LT(apart.gap(GapKind::accuracy)->chance, 0.2);
}

TEST(GroupFairness, FoldedGroupsAreInNoGap) {
  const GroupFairness fairness =
      judged({{"a", 9, 1, 0, 10}, {"b", 9, 1, 0, 10}, {"c", 0, 4, 0, 0}, {"d", 0, 0, 3, 0}}, 10);
  EXPECT_THAT(names_of(fairness), ElementsAre("a", "b", "(other)"));
  EXPECT_EQ(fairness.folded, 2u);
  EXPECT_TRUE(fairness.groups[2].is_rest);
  EXPECT_EQ(fairness.groups[2].examples, 7u);
  EXPECT_DOUBLE_EQ(fairness.gap(GapKind::accuracy)->value, 0);
  EXPECT_NE(fairness.worst, 2u);
  const GroupFairness alone = judged({{"a", 9, 1, 0, 10}, {"c", 0, 4, 0, 0}}, 10);
  for (const auto& gap : alone.gaps) EXPECT_FALSE(gap) << "there is nobody to compare with";
  EXPECT_EQ(alone.worst, 0u);
}

TEST(GroupFairness, WithoutAPositiveClassAccuracyAndErrorAreCompared) {
  GroupAnswers answers(make_groups("g", std::vector<std::string>{"a", "a", "b", "b"}, 1));
  answers.add(2, 2, 1);
  answers.add(0, 0, 2);
  answers.add(1, 2, 3);
  answers.add(std::nullopt, 0, 4);
  const GroupFairness fairness = answers.judged(1);
  EXPECT_DOUBLE_EQ(fairness.gap(GapKind::accuracy)->value, 1) << "no answer is no right one";
  EXPECT_DOUBLE_EQ(fairness.gap(GapKind::error)->value, 2);
  EXPECT_FALSE(fairness.gap(GapKind::demographic_parity));
  EXPECT_FALSE(fairness.selection_ratio);
  EXPECT_DOUBLE_EQ(fairness.groups[1].error.mean, 3.5);
  EXPECT_NEAR(*fairness.groups[1].error.half_width, 12.706 * 0.5, 1e-9) << "Student's t with one degree of freedom";
}

TEST(GroupFairness, OfNumbersTheLargestErrorIsTheWorst) {
  GroupAnswers answers(make_groups("g", std::vector<std::string>{"a", "b", "b"}, 1));
  for (const double error : {1.0, 4.0, 6.0}) answers.add(error);
  const GroupFairness fairness = answers.judged(1);
  EXPECT_TRUE(fairness.is_of_numbers);
  EXPECT_DOUBLE_EQ(fairness.gap(GapKind::error)->value, 4);
  EXPECT_FALSE(fairness.gap(GapKind::accuracy));
  EXPECT_EQ(fairness.worst, 1u);
}

TEST(GroupFairness, AnErrorThatIsInfiniteIsNoGap) {
  const GroupFairness fairness = judged({{"a", 4, 1, 1, 4}, {"b", 3, 7, 1, 9}}, 1, INFINITY);
  EXPECT_FALSE(fairness.gap(GapKind::error));
  EXPECT_TRUE(std::isnan(fairness.groups[0].error.mean));
  EXPECT_TRUE(fairness.gap(GapKind::accuracy));
}

TEST(ExampleGroups, StandInOrderAndNameWhatIsMissing) {
  const ExampleGroups groups = make_groups("age", std::vector<std::string>{"10", "9", "?", "10", ""}, 1);
  EXPECT_THAT(groups.names, ElementsAre("9", "10", "(missing)"));
  EXPECT_THAT(groups.of, ElementsAre(1u, 0u, 2u, 1u, 2u));
  EXPECT_FALSE(groups.rest);
}

TEST(ExampleGroups, ManyNumbersAreCutAtQuartiles) {
  std::vector<std::string> values = {"NA"};
  for (int i = 1; i <= 100; ++i) values.push_back(std::to_string(i));
  const ExampleGroups groups = make_groups("age", values, 1);
  EXPECT_THAT(groups.names, ElementsAre("up to 25", "over 25, up to 50", "over 50, up to 75", "over 75", "(missing)"));
  EXPECT_EQ(groups.of[25], 0u);
  EXPECT_EQ(groups.of[26], 1u);
  EXPECT_EQ(groups.of[100], 3u);
  EXPECT_EQ(groups.of[0], 4u);
  for (std::string& value : values) value += "x";
  EXPECT_EQ(make_groups("id", values, 1).names.size(), kExampleGroupsMax + 1)
      << "texts are no numbers: the rest is folded";
}

}  // namespace
}  // namespace coterie::test
