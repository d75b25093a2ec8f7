#include "proto/messages/plan_features.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "proto/messages/plan.h"

namespace coterie {
namespace {

using Change = std::function<void(Plan&)>;

// What was there before there were features asks for none: older devices are drawn for it as ever.
TEST(PlanFeatures, OfOlderPlansAreNone) {
  const Change older[] = {
      [](Plan&) {},
      [](Plan& p) { p.analytics.emplace(); },
      [](Plan& p) { p.update.encoding = UpdateEncoding::quantized; },
      [](Plan& p) { p.update.encoding = UpdateEncoding::float32_clip_bit; },
      [](Plan& p) { p.training.correction.kind = CorrectionKind::scaffold; },
      [](Plan& p) { p.training.early_stopping.emplace(); },
      [](Plan& p) { p.download.bits = 4; },
      [](Plan& p) { p.staleness.versions_max = 3; },
  };
  for (const Change& change : older) {
    Plan plan;
    change(plan);
    EXPECT_EQ(features_of(plan), 0u);
  }
}

TEST(PlanFeatures, OfNewFormsAreABitEachThatThisVersionKnows) {
  const Change newer[] = {
      [](Plan& p) { p.analytics = AnalyticsRules{.kind = AnalyticsKind::evaluation}; },
      [](Plan& p) { p.analytics = AnalyticsRules{.kind = AnalyticsKind::heavy_hitters}; },
      [](Plan& p) { p.update.encoding = UpdateEncoding::top_k; },
      [](Plan& p) { p.update.encoding = UpdateEncoding::eden; },
      [](Plan& p) { p.update.scalars.emplace_back(); },
      [](Plan& p) { p.training.correction.kind = CorrectionKind::scaffold_gradient; },
      [](Plan& p) { p.training.correction.kind = CorrectionKind::mime_lite; },
      [](Plan& p) { p.training.personal.emplace(); },
      [](Plan& p) {
        p.training.widths = {1'000'000, 500'000};
      },
      [](Plan& p) { p.training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = 2}; },
      [](Plan& p) {
        p.update.scalars.push_back({ScalarKind::group_member, 1});
      },
      [](Plan& p) { p.training.watch.emplace(); },
      [](Plan& p) {
        p.update.scalars.push_back({ScalarKind::watch_hit, 2});
      },
      [](Plan& p) { p.training.optimizer.kind = OptimizerKind::muon; },
      [](Plan& p) { p.training.optimizer.kind = OptimizerKind::shampoo; },
      [](Plan& p) { p.training.qat.emplace(); },
      [](Plan& p) { p.training.ignore_label = 0; },
      [](Plan& p) { p.training.heads.emplace_back(); },
      [](Plan& p) {
        p.analytics = AnalyticsRules{.kind = AnalyticsKind::evaluation};
        p.analytics->evaluation.emplace().importance.emplace();
      },
      [](Plan& p) { p.analytics = AnalyticsRules{.kind = AnalyticsKind::activation_ranges}; },
  };
  PlanFeatures all = 0;
  for (const Change& change : newer) {
    Plan plan;
    change(plan);
    PlanFeatures features = features_of(plan);
    // What clusters, groups, noisy watches and importance are a kind of has a bit of its own, that is not theirs.
    if ((features & plan_feature::kClusters) != 0) features &= ~plan_feature::kPersonal;
    if ((features & plan_feature::kGroups) != 0) features &= ~plan_feature::kScalars;
    if ((features & plan_feature::kNoisyWatch) != 0) features &= ~plan_feature::kScalars;
    if ((features & plan_feature::kImportance) != 0) features &= ~plan_feature::kEvaluation;
    EXPECT_TRUE(std::has_single_bit(features));
    EXPECT_EQ(features & all, 0u) << "a bit has one meaning";
    all |= features;
  }
  EXPECT_EQ(all, kKnownFeatures);
}

}  // namespace
}  // namespace coterie
