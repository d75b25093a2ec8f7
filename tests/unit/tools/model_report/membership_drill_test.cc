// The membership drill: figures by hand, a model that learnt its examples by heart, and one that learnt nothing.
#include "tools/model_report/membership_drill.h"

#include <gmock/gmock.h>

#include <cmath>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/model_report/example_scores.h"

namespace coterie::test {
namespace {

TEST(MembershipDrill, IsTheAttackByHand) {
  // The mean of members is 1: three of four are at most there, and of the others one in 100.
  std::vector<double> others(100, 5);
  others[7] = 0.5;
  others[8] = INFINITY;
  const MembershipDrill drill = membership_drill({0, 0.25, 0.75, 3}, others);
  EXPECT_DOUBLE_EQ(drill.member_loss, 1);
  EXPECT_EQ(drill.true_positives, (SeenShare{3, 4}));
  EXPECT_EQ(drill.false_positives, (SeenShare{1, 100}));
  EXPECT_DOUBLE_EQ(drill.advantage(), 0.74);
  EXPECT_DOUBLE_EQ(drill.area.area, 398.0 / 400) << "two pairs of all stand the other way";
  ASSERT_EQ(drill.found.size(), 2u);
  EXPECT_EQ(drill.found[0].found, (SeenShare{4, 4})) << "the second of the others is at 5";
  EXPECT_FALSE(drill.found[1].found) << "100 others cannot tell of 1 in 1,000";
}

TEST(MembershipDrill, EpsilonAllowsWhatKairouzSays) {
  const PrivacyPromise one{std::log(3.0), 0.1}, none{0, 0}, large{800, 0};
  EXPECT_NEAR(one.advantage_max(), (3 - 1 + 0.2) / 4, 1e-12);
  EXPECT_NEAR(one.true_positives_max(0.01), 0.13, 1e-12);
  EXPECT_NEAR(one.true_positives_max(0.6), 0.9, 1e-12) << "1 - .3 / 3, the other side of the corner";
  EXPECT_EQ(none.advantage_max(), 0);
  EXPECT_EQ(large.advantage_max(), 1);
  const MembershipDrill apart = membership_drill(std::vector<double>(50, 0.1), std::vector<double>(50, 2));
  EXPECT_TRUE(breaks(apart, one));
  EXPECT_FALSE(breaks(apart, large));
  const MembershipDrill alike = membership_drill(std::vector<double>(50, 1), std::vector<double>(50, 1));
  EXPECT_FALSE(breaks(alike, none));
}

std::vector<double> losses_of(const Model& model, std::span<const float> parameters, Examples& examples) {
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 64);
  EXPECT_OK(evaluator);
  std::optional<ExampleScores> scores = ExampleScores::of(model, {}, 1);
  const Result<Evaluation> all =
      evaluator->run(parameters, examples, [&scores](auto outputs, auto targets) { scores->add(outputs, targets); });
  EXPECT_OK(all);
  double sum = 0;
  for (const double loss : scores->losses()) sum += loss;
  EXPECT_NEAR(sum / static_cast<double>(examples.size()), all->loss_mean, 1e-5);
  return scores->losses();
}

// Labels are drawn: there is nothing to learn but the examples themselves.
TEST(MembershipDrill, FindsWhatWasLearntByHeart) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8}, 2, 1));
  const auto drilled = [&model](std::span<const float> parameters, Examples& members, uint64_t seed) {
    Examples others(400, 8, 2, seed);
    return membership_drill(losses_of(model, parameters, members), losses_of(model, parameters, others));
  };
  int areas = 0, advantages = 0;
  for (uint64_t seed = 100; seed < 140; seed += 2) {
    Examples strangers(60, 8, 2, seed);
    const MembershipDrill untrained = drilled(model.parameters(), strangers, seed + 1);
    areas += untrained.area.low <= 0.5 && 0.5 <= untrained.area.high ? 1 : 0;
    const ShareInterval advantage = untrained.advantage_interval();
    advantages += advantage.low <= 0 && 0 <= advantage.high ? 1 : 0;
  }
  EXPECT_GE(areas, 17) << "of 20 intervals of 95 %";
  EXPECT_GE(advantages, 17);
  Examples members(60, 8, 2, 3);
  TrainOptions options{.batch_size = 20, .epochs = 200};
  options.optimizer.kind = OptimizerKind::adam;
  options.optimizer.learning_rate = 0.01f;
  Result<Trainer> trainer = Trainer::create(model, options, members);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const MembershipDrill by_heart = drilled(trainer->parameters(), members, 4);
  EXPECT_GT(by_heart.area.low, 0.6);
  EXPECT_GT(by_heart.advantage_interval().low, 0.2);
  EXPECT_TRUE(breaks(by_heart, {0.1, 1e-6}));
}

}  // namespace
}  // namespace coterie::test
