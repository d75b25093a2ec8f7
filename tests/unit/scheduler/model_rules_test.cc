#include "scheduler/job/model_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/running_statistics.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// x -> batch norm -> batch norm -> y; the second has the statistics of the first if they are shared.
ModelGraph normed(bool first_is_frozen, bool second_is_frozen, bool are_shared = false) {
  const auto vector = [](const char* name, TensorRole role, uint64_t first) {
    return TensorInfo{.name = name, .role = role, .shape = {4}, .payload_offset = first * 64};
  };
  ModelGraph graph;
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {4}},
                   vector("scale", TensorRole::parameter, 4),
                   vector("bias", TensorRole::parameter, 5),
                   vector("mean", TensorRole::state, 1),
                   vector("variance", TensorRole::state, 0),
                   vector("mean2", TensorRole::state, 2),
                   vector("variance2", TensorRole::state, 3),
                   {.name = "hidden"},
                   {.name = "y"}};
  NormAttributes first, second;
  first.is_frozen = first_is_frozen;
  second.is_frozen = second_is_frozen;
  const uint32_t mean = are_shared ? 3 : 5, variance = are_shared ? 4 : 6;
  graph.ops = {{OpKind::batch_norm, "a", {0, 1, 2, 3, 4}, {7}, first},
               {OpKind::batch_norm, "b", {7, 1, 2, mean, variance}, {8}, second}};
  graph.inputs = {0};
  graph.output = 8;
  return graph;
}

HorizontalSettings noisy() {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::none;
  settings.privacy.noise_multiplier = 1;
  return settings;
}

TEST(ModelRules, AJobWithNoiseMayNotMoveStatistics) {
  const Problems problems = validate_with_graph(noisy(), normed(true, false));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/model");
  EXPECT_THAT(problems[0].detail, HasSubstr("has 1 batch norms whose running statistics"));
  EXPECT_THAT(validate_with_graph(noisy(), normed(true, true)), IsEmpty());
  EXPECT_THAT(validate_with_graph(HorizontalSettings(), normed(false, false)), IsEmpty());
}

TEST(ModelRules, NoiseDoesNotGoWithPooledStatistics) {
  HorizontalSettings settings = noisy();
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 3;
  settings.update.clip_l2 = 1;
  settings.update.weight_max = 1;
  EXPECT_THAT(validate(settings), IsEmpty());
  settings.strategy.statistics = Statistics::pooled;
  ASSERT_EQ(validate(settings).size(), 1u);
  EXPECT_EQ(validate(settings)[0].pointer, "/strategy/statistics");
}

TEST(ModelRules, StatisticsArePooledWhereSomeMove) {
  EXPECT_EQ(default_statistics(normed(false, true), {}), Statistics::pooled);
  EXPECT_EQ(default_statistics(normed(true, true), {}), Statistics::averaged);
}

// Neither noise nor rounding meets what no update has.
TEST(ModelRules, StatisticsThatDevicesKeepGoWithNoiseAndFewBits) {
  TrainingSettings training;
  training.personal = PersonalSettings{.norms = true};
  EXPECT_EQ(default_statistics(normed(false, true), training), Statistics::averaged);
  HorizontalSettings settings = noisy();
  settings.training = training;
  EXPECT_THAT(validate_with_graph(settings, normed(false, false)), IsEmpty());
  settings = {};
  settings.update.compression.bits = 8;
  EXPECT_THAT(validate_with_graph(settings, normed(false, false)), testing::SizeIs(1));
  settings.training = training;
  EXPECT_THAT(validate_with_graph(settings, normed(false, false)), IsEmpty());
}

TEST(RunningStatistics, AreThoseOfNormsThatAreNotFrozen) {
  const RunningStatistics first{16, 0, 4}, second{32, 48, 4};
  EXPECT_THAT(running_statistics(normed(false, false)), ElementsAre(first, second));
  EXPECT_THAT(running_statistics(normed(true, false)), ElementsAre(second));
  EXPECT_THAT(running_statistics(normed(false, false, true)), ElementsAre(first)) << "shared";
  EXPECT_THAT(parameter_values(normed(false, false)), ElementsAre(ValueRange{64, 4}, ValueRange{80, 4}));
  EXPECT_THAT(variances(normed(true, false)), ElementsAre(ValueRange{0, 4}, ValueRange{48, 4}));
}

TEST(RunningStatistics, NeedNoMoreThanTheStructureThatDecodingChecks) {
  ModelGraph graph = normed(false, false);
  graph.ops[0].inputs = {0};
  graph.ops[1].inputs[4] = kNoTensor;
  EXPECT_THAT(running_statistics(graph), IsEmpty());
  EXPECT_THAT(variances(graph), IsEmpty());
  graph = normed(false, false);
  graph.tensors[3].shape = {2};
  EXPECT_THAT(running_statistics(graph), ElementsAre(RunningStatistics{32, 48, 4}));
}

// Whatever a device has seen: what it sends is in the bound, and makes no variance below 0, alone or with others.
TEST(RunningStatistics, OverTheBoundAreStillStatistics) {
  const RunningStatistics norm{0, 1, 1};
  const float given = 0.5f, bound = 8;
  for (const float mean : {0.0f, 1.0f, -7.9f, 20.0f, -3e5f}) {
    for (const float variance : {0.0f, 0.5f, 7.0f, 900.0f}) {
      std::vector<float> delta = {mean, variance - given};
      encode_statistics(std::span(&norm, 1), bound, delta);
      EXPECT_LE(std::abs(delta[0]), bound);
      EXPECT_LE(std::abs(delta[1]), bound);
      const double m = static_cast<double>(delta[0]), s = static_cast<double>(delta[1]);
      EXPECT_GE(static_cast<double>(given) + s - m * m, -1e-5 * (1 + m * m)) << mean << " " << variance;
      if (std::abs(mean) <= 1 && variance <= 7) {
        EXPECT_NEAR(pooled_variance(given, m, s), variance, 1e-5) << "unbounded";
      }
    }
  }
  EXPECT_EQ(pooled_variance(0.5f, 2, 1), 0);
}

}  // namespace
}  // namespace coterie
