// What an update tells beside, as a plan says it.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "proto/generated/wire_generated.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/plan_features.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Plan with_scalars(const std::function<void(Plan&)>& change = [](Plan&) {}) {
  return test::changed<Plan>([&](Plan& p) {
    p.training = {.loss = Loss::huber};
    p.privacy = {};
    p.update.encoding = UpdateEncoding::float32;
    p.update.fixed_point.weight_max = 1;
    p.update.scalars = {{ScalarKind::squared_norm, 4}, {ScalarKind::fair_step, 1024}};
    p.update.fair = {.q = 0.5f, .loss_max = 3};
    change(p);
  });
}

TEST(PlanScalars, HaveNoLossWhereOlderDevicesLook) {
  for (const bool stops_early : {false, true}) {
    const Plan plan = with_scalars([stops_early](Plan& p) {
      if (stops_early) p.training.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 1};
      if (stops_early) p.training.local_epochs = 4;
      p.update.whole_value_count = p.update.value_count;
    });
    const Bytes frame = encode(plan);
    const auto* training =
        flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
    EXPECT_EQ(training->loss(), 0);
    EXPECT_EQ(training->objective()->loss(), 0);
    EXPECT_EQ(training->trained()->loss(), 0);
    EXPECT_TRUE(!stops_early || training->early_stopping()->loss() == 0);
    EXPECT_EQ(training->scalars()->loss(), static_cast<uint8_t>(Loss::huber));
    const Result<Plan> read = decode_plan(frame);
    ASSERT_OK(read);
    EXPECT_EQ(*read, plan);
    EXPECT_EQ(read->update.step_value_count() + 2, read->update.value_count);
  }
}

TEST(PlanScalars, AreAFeatureThatDevicesKnowOrNot) {
  EXPECT_EQ(features_of(with_scalars()), plan_feature::kScalars);
  const auto corrected = [](CorrectionKind kind) {
    return with_scalars([kind](Plan& p) {
      p.update.scalars.clear();
      p.update.fair = {};
      p.training.correction.kind = kind;
    });
  };
  EXPECT_EQ(features_of(corrected(CorrectionKind::scaffold)), 0u) << "of before there were features";
  EXPECT_EQ(features_of(corrected(CorrectionKind::scaffold_gradient)), plan_feature::kScaffoldGradient);
  EXPECT_EQ(features_of(corrected(CorrectionKind::mime_lite)), plan_feature::kMimeLite);
}

Plan with_groups(
    uint32_t groups, const std::function<void(Plan&)>& change = [](Plan&) {}) {
  return with_scalars([&](Plan& p) {
    p.update.fair = {};
    p.update.scalars.assign(groups, {ScalarKind::group_member, 1});
    p.update.scalars.insert(p.update.scalars.end(), groups, {ScalarKind::group_loss, 3});
    p.update.value_count = 100;
    p.update.fixed_point.weight_max = 8;
    p.control = Digest{.bytes = {9}};
    change(p);
  });
}

TEST(PlanScalars, OfGroupsAreTwoForEachAndGoWithAControl) {
  for (const uint32_t groups : {kGroupsMin, kGroupsMax}) {
    const Plan plan = with_groups(groups);
    EXPECT_OK(validate(plan));
    const Result<Plan> read = decode_plan(encode(plan));
    ASSERT_OK(read);
    EXPECT_EQ(*read, plan);
    EXPECT_EQ(features_of(plan), plan_feature::kScalars | plan_feature::kGroups);
    EXPECT_EQ(group_count(plan.update), groups);
    EXPECT_EQ(handed_value_count(plan.update), 2 * groups);
    EXPECT_OK(validate(with_groups(groups, [](Plan& p) { p.control.reset(); }))) << "of the first round";
  }
  test::expect_golden_bytes("wire/plan.groups.hex", encode(with_groups(3)));
  const auto expect_refused = [](const char* why, const Plan& plan) {
    EXPECT_ERROR(validate(plan), ErrorCode::invalid_argument, why);
  };
  expect_refused("[2, 8] groups", with_groups(1));
  expect_refused("", with_groups(kGroupsMax + 1));
  expect_refused("and none but those of a watch", with_groups(2, [](Plan& p) { p.update.scalars.pop_back(); }));
  expect_refused("and none but those of a watch",
                 with_groups(2, [](Plan& p) { p.update.scalars[0].kind = ScalarKind::group_loss; }));
  expect_refused("and none but those of a watch", with_groups(2, [](Plan& p) {
                   p.update.scalars.push_back({ScalarKind::squared_norm, 1});
                 }));
  expect_refused("the second half",
                 with_groups(2, [](Plan& p) { std::swap(p.update.scalars[1], p.update.scalars[2]); }));
  expect_refused("the first half", with_groups(2, [](Plan& p) { p.update.scalars[1].bound = 2; }));
  expect_refused("of one bound", with_groups(2, [](Plan& p) { p.update.scalars[3].bound = 2; }));
  expect_refused("the bound of group_loss",
                 with_groups(2, [](Plan& p) { p.update.scalars[2].bound = p.update.scalars[3].bound = 2e6f; }));
  expect_refused("correction must be absent", with_groups(2, [](Plan& p) {
                   p.training.correction = {CorrectionKind::feddyn, 0.1f};
                 }));
  expect_refused("personal must be absent", with_groups(2, [](Plan& p) {
                   p.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 1};
                 }));
  expect_refused("control must be absent", with_scalars([](Plan& p) { p.control = Digest{.bytes = {9}}; }));
}

TEST(PlanScalars, OfGroupsComeToFactorsOfAtMostOne) {
  EXPECT_THAT(group_factors({}, 3), testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(group_factors(std::vector<float>{0.25f, 0.75f, 0.5f, 0.5f}, 2), testing::ElementsAre(1.0 / 3, 1));
  EXPECT_THAT(group_factors(std::vector<float>{0.5f, 0.5f, 0.25f, 0.75f}, 2),
              testing::ElementsAre(1, testing::DoubleEq(1.0 / 3)))
      << "who is seldom there weighs the more";
  EXPECT_THAT(group_factors(std::vector<float>{1, 0, 0, 1}, 2), testing::ElementsAre(1, 0));
  EXPECT_OK(check_group_weights(std::vector<float>{0.25f, 0.75f, 0, 1}));
  for (const float wrong : {-0.1f, 1.1f, kNaN, kInf}) {
    EXPECT_ERROR(check_group_weights(std::vector<float>{0.5f, wrong, 0.5f, 0.5f}), ErrorCode::invalid_argument,
                 "[0, 1]");
    EXPECT_ERROR(check_group_weights(std::vector<float>{0.5f, 0.5f, 0.5f, wrong}), ErrorCode::invalid_argument,
                 "[0, 1]");
  }
  EXPECT_ERROR(check_group_weights(std::vector<float>{0, 0, 1, 1}), ErrorCode::invalid_argument, "weights");
}

TEST(PlanScalars, AreLimitedByName) {
  const auto expect_refused = [](const char* why, const std::function<void(Plan&)>& change) {
    const Plan plan = with_scalars(change);
    EXPECT_ERROR(validate(plan), ErrorCode::invalid_argument, why);
    EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, "");
  };
  EXPECT_OK(validate(with_scalars()));
  EXPECT_OK(validate(with_scalars([](Plan& p) { p.update.encoding = UpdateEncoding::float32_pooled; })));
  for (const float bound : {0.0f, -1.0f, 1.1e12f, kNaN, kInf}) {
    expect_refused("bound", [bound](Plan& p) { p.update.scalars[0].bound = bound; });
  }
  for (const int kind : {0, 8, 255}) {
    expect_refused("kind", [kind](Plan& p) { p.update.scalars[0].kind = static_cast<ScalarKind>(kind); });
  }
  expect_refused("without a watch", [](Plan& p) { p.update.scalars[0].kind = ScalarKind::watch_hit; });
  expect_refused("different kinds", [](Plan& p) { p.update.scalars[0].kind = ScalarKind::fair_step; });
  expect_refused("value_count must be above", [](Plan& p) { p.update.value_count = 2; });
  expect_refused("together", [](Plan& p) { p.update.fair = {}; });
  expect_refused("together", [](Plan& p) { p.update.scalars.pop_back(); });
  expect_refused("weight_max must be 1", [](Plan& p) { p.update.fixed_point.weight_max = 2; });
  for (const float q : {-0.1f, 10.1f, kNaN, kInf}) expect_refused("q in", [q](Plan& p) { p.update.fair.q = q; });
  expect_refused("encoding", [](Plan& p) {
    p.update.encoding = UpdateEncoding::quantized;
    p.update.clip_l2 = 1;
    p.update.quantization = {.bits = 8};
  });
  expect_refused("staleness", [](Plan& p) { p.staleness = {.versions_max = 3, .exponent = 0.5f}; });
  expect_refused("", [](Plan& p) { p.update.scalars.assign(kScalarsMax + 1, {ScalarKind::squared_norm, 1}); });
}

}  // namespace
}  // namespace coterie
