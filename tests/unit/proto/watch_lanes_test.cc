#include "proto/messages/watch_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "proto/generated/wire_generated.h"
#include "proto/messages/plan_features.h"
#include "proto/messages/watch_noise.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using testing::ElementsAre;

TEST(WatchLanes, AreOneForTheLookAndThenThoseOfEachCheck) {
  const WatchSettings settings{.checks = {"dead_relu", "label_drift", "weight_unchanged"}};
  EXPECT_EQ(watch_lane(settings, 0), 1u);
  EXPECT_EQ(watch_lane(settings, 1), 1u + kWatchGroups);
  EXPECT_EQ(watch_lane(settings, 2), 2u + kWatchGroups) << "a check of the training as a whole has one";
  EXPECT_EQ(watch_lane_count(settings), 2u + 2 * kWatchGroups);
  EXPECT_EQ(watch_scalars(settings), std::vector<ScalarRule>(18, {ScalarKind::watch_hit, 1}));
  EXPECT_EQ(watch_lanes_of(watch_scalars(settings)), 18u);
}

TEST(WatchLanes, RecommendedStandsForNames) {
  const WatchSettings named = named_checks({.checks = {"recommended"}, .every = 7});
  EXPECT_EQ(named.every, 7u);
  EXPECT_THAT(named.checks, testing::Contains("dead_relu"));
  EXPECT_THAT(named.checks, testing::Not(testing::Contains("update_norm_outlier")));
  EXPECT_EQ(named_checks(named), named);
  EXPECT_LE(named.checks.size(), kJobWatchChecksMax);
}

// A chain of so many layers, each followed by a ReLU, behind a reshape of the input.
ModelGraph chain(size_t layers) {
  ModelGraph graph;
  graph.tensors.push_back({.role = TensorRole::input});
  graph.ops.push_back({.kind = OpKind::reshape, .name = "flat", .inputs = {0}, .outputs = {0}});
  for (size_t i = 0; i < layers; ++i) {
    const auto weight = static_cast<uint32_t>(graph.tensors.size());
    graph.tensors.push_back({.role = TensorRole::parameter});
    const std::string number = std::to_string(i);
    graph.ops.push_back({.kind = OpKind::dense, .name = "dense" + number, .inputs = {0, weight}, .outputs = {0}});
    graph.ops.push_back({.kind = OpKind::relu, .name = "relu" + number, .inputs = {0}, .outputs = {0}});
  }
  return graph;
}

TEST(LayerGroups, AreLayersWithWhatFollowsThem) {
  const LayerGroups groups(chain(3));
  EXPECT_THAT(groups.names(), ElementsAre("dense0", "dense1", "dense2"));
  EXPECT_EQ(groups.of_op("flat"), 0u) << "in front of the first";
  EXPECT_EQ(groups.of_op("dense1"), 1u);
  EXPECT_EQ(groups.of_op("relu1"), 1u);
  EXPECT_EQ(groups.of_op("nowhere"), 0u);
  EXPECT_THAT(LayerGroups(chain(0)).names(), testing::IsEmpty());
  EXPECT_EQ(LayerGroups(chain(0)).of_op("flat"), 0u);
}

TEST(LayerGroups, AreNeighboursWhereThereAreMoreThanLanes) {
  for (const size_t layers : {8u, 9u, 20u, 64u}) {
    const LayerGroups groups(chain(layers));
    EXPECT_EQ(groups.names().size(), kWatchGroups) << layers;
    std::set<uint32_t> seen;
    uint32_t last = 0;
    for (size_t i = 0; i < layers; ++i) {
      const uint32_t group = groups.of_op("dense" + std::to_string(i));
      EXPECT_GE(group, last) << "in the order of the graph";
      seen.insert(last = group);
    }
    EXPECT_EQ(seen.size(), kWatchGroups) << layers;
  }
  EXPECT_THAT(LayerGroups(chain(16)).names(), testing::Contains("dense2..dense3"));
}

TEST(LayerGroups, SayNothingThatMovesACursor) {
  ModelGraph graph = chain(1);
  graph.ops[1].name = "a\x1b[31m " + std::string(500, 'x');
  const LayerGroups groups(graph);
  EXPECT_EQ(groups.names()[0].size(), kLayerNameBytesMax);
  EXPECT_EQ(groups.names()[0].substr(0, 8), "a?[31m?x");
  EXPECT_EQ(groups.of_op(graph.ops[1].name), 0u);
}

Plan watched(const std::function<void(Plan&)>& change = [](Plan&) {}) {
  return test::changed<Plan>([&](Plan& p) {
    p.training = {.loss = Loss::huber, .watch = WatchSettings{.checks = {"dead_relu", "label_drift"}, .every = 10}};
    p.privacy = {};
    p.update.encoding = UpdateEncoding::float32;
    p.update.clip = {};
    p.update.scalars = watch_scalars(*p.training.watch);
    change(p);
  });
}

TEST(PlanWatch, HasNoLossWhereOlderDevicesLookAndDerivesItsLanes) {
  const Plan plan = watched();
  ASSERT_OK(validate(plan));
  const Bytes frame = encode(plan);
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective()->loss(), 0);
  EXPECT_EQ(training->scalars(), nullptr) << "its lanes follow from its checks";
  EXPECT_EQ(training->watch()->loss(), static_cast<uint8_t>(Loss::huber));
  EXPECT_EQ(*decode_plan(frame), plan);
  EXPECT_EQ(features_of(plan), plan_feature::kScalars | plan_feature::kWatch);
  test::expect_golden_bytes("wire/plan.watch.hex", frame);
  // Behind the scalars that a strategy asks for.
  const Plan both = watched([](Plan& p) {
    p.update.scalars.insert(p.update.scalars.begin(), {ScalarKind::squared_norm, 4});
    p.training.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 1};
    p.training.local_epochs = 4;
  });
  ASSERT_OK(validate(both));
  EXPECT_EQ(*decode_plan(encode(both)), both);
}

// Lanes that noise covers: one of two values, of a height that the bound says, and never more than was meant.
TEST(PlanWatch, SaysTheHeightOfItsLanesWithNoise) {
  for (const float bound : {1.0f, 1.5f, 700.0f}) {
    const Plan plan = watched([bound](Plan& p) {
      for (ScalarRule& lane : p.update.scalars) lane.bound = bound;
    });
    ASSERT_OK(validate(plan));
    EXPECT_EQ(*decode_plan(encode(plan)), plan);
    EXPECT_EQ(has_noisy_watch(plan.update), bound > 1);
    EXPECT_EQ((features_of(plan) & plan_feature::kNoisyWatch) != 0, bound > 1);
  }
  for (const float value_abs_max : {0.3f, 1.0f, 64.0f, 1e9f}) {
    for (const double height : {1e-9, 0.01, 0.1, 0.25, 0.2999}) {
      UpdateRules rules;
      rules.fixed_point.value_abs_max = value_abs_max;
      rules.scalars = {{ScalarKind::watch_hit, watch_bound(height, value_abs_max)}};
      ASSERT_TRUE(has_noisy_watch(rules));
      EXPECT_LE(static_cast<double>(watch_height(rules)), height);
      EXPECT_GT(static_cast<double>(watch_height(rules)), height * (1 - 1e-6));
    }
  }
}

TEST(PlanWatch, IsLimitedByName) {
  const auto expect_refused = [](const char* why, const std::function<void(Plan&)>& change) {
    EXPECT_ERROR(validate(watched(change)), ErrorCode::invalid_argument, why);
  };
  const auto expect_undecodable = [](const std::function<void(Plan&)>& change) {
    EXPECT_ERROR(decode_plan(encode(watched(change))), ErrorCode::malformed, "");
  };
  const auto none = [](Plan& p) {
    p.training.watch->checks.clear(), p.update.scalars = watch_scalars(*p.training.watch);
  };
  expect_refused("checks must be 1 to 16 names", none);
  expect_undecodable(none);
  expect_refused("must be `recommended`", [](Plan& p) { p.training.watch->checks[0] = "tensor_too_large"; });
  expect_undecodable([](Plan& p) { p.training.watch->checks[0] = "tensor_too_large"; });
  expect_refused("names that this version knows", [](Plan& p) { p.training.watch->checks = {"recommended"}; });
  const auto twice = [](Plan& p) {
    p.training.watch->checks = {"dead_relu", "dead_relu"};
    p.update.scalars = watch_scalars(*p.training.watch);
  };
  expect_refused("twice", twice);
  expect_undecodable(twice);
  for (const uint32_t every : {0u, 1'000'001u}) {
    expect_refused("every must be in", [every](Plan& p) { p.training.watch->every = every; });
    expect_undecodable([every](Plan& p) { p.training.watch->every = every; });
  }
  expect_refused("must end with the watch's 10", [](Plan& p) { p.update.scalars.pop_back(); });
  expect_refused("must end with the watch's 10", [](Plan& p) {
    p.update.scalars.push_back({ScalarKind::watch_hit, 1});
  });
  expect_refused("bound of watch_hit", [](Plan& p) { p.update.scalars.back().bound = 2; });
  const auto noisy = [](Plan& p) {
    for (ScalarRule& lane : p.update.scalars) lane.bound = 20;
  };
  for (const float bound : {0.5f, -1.0f, std::nanf("")}) {
    expect_refused("bound of watch_hit", [&](Plan& p) {
      noisy(p);
      p.update.scalars[3].bound = bound;
    });
  }
  const auto masked = [&](Plan& p) { noisy(p), p.privacy = {.level = SecurityLevel::masked, .cipher_suite = 1}; };
  expect_refused("there is no noise", masked);
  expect_undecodable(masked);
  expect_refused("a watch's alone", [&](Plan& p) {
    noisy(p);
    p.update.scalars.insert(p.update.scalars.begin(), {ScalarKind::squared_norm, 4});
  });
  expect_refused("without a watch", [](Plan& p) { p.training.watch.reset(); });
  expect_refused("lora",
                 [](Plan& p) { p.training.lora = LoraSettings{.fixed_a_seed = 0}, p.update.whole_value_count = 1000; });
  const auto late = [](Plan& p) { p.staleness = {.versions_max = 3, .exponent = 0.5f}; };
  expect_refused("staleness", late);
  expect_undecodable(late);
}

}  // namespace
}  // namespace coterie
