#include "proto/messages/plan_features.h"

#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/plan.h"
#include "proto/messages/watch_noise.h"

namespace coterie {

PlanFeatures features_of(const Plan& plan) {
  const CorrectionKind correction = plan.training.correction.kind;
  const UpdateEncoding encoding = plan.update.encoding;
  PlanFeatures features = 0;
  if (plan.analytics && plan.analytics->kind == AnalyticsKind::evaluation) features |= plan_feature::kEvaluation;
  if (plan.analytics && plan.analytics->evaluation && plan.analytics->evaluation->importance) {
    features |= plan_feature::kImportance;
  }
  if (plan.analytics && plan.analytics->kind == AnalyticsKind::heavy_hitters) features |= plan_feature::kHeavyHitters;
  if (plan.analytics && plan.analytics->kind == AnalyticsKind::activation_ranges) {
    features |= plan_feature::kActivationRanges;
  }
  if (encoding == UpdateEncoding::top_k) features |= plan_feature::kTopK;
  if (encoding == UpdateEncoding::eden) features |= plan_feature::kEden;
  if (!plan.update.scalars.empty()) features |= plan_feature::kScalars;
  if (correction == CorrectionKind::scaffold_gradient) features |= plan_feature::kScaffoldGradient;
  if (correction == CorrectionKind::mime_lite) features |= plan_feature::kMimeLite;
  if (plan.training.personal) features |= plan_feature::kPersonal;
  if (!plan.training.widths.empty()) features |= plan_feature::kWidths;
  if (cluster_count(plan.training) > 1) features |= plan_feature::kClusters;
  if (group_count(plan.update) > 0) features |= plan_feature::kGroups;
  if (plan.training.optimizer.kind == OptimizerKind::muon) features |= plan_feature::kMuon;
  if (plan.training.optimizer.kind == OptimizerKind::shampoo) features |= plan_feature::kShampoo;
  if (plan.training.watch) features |= plan_feature::kWatch;
  if (has_noisy_watch(plan.update)) features |= plan_feature::kNoisyWatch;
  if (plan.training.qat) features |= plan_feature::kQat;
  if (plan.training.ignore_label) features |= plan_feature::kIgnoreLabel;
  if (!plan.training.heads.empty()) features |= plan_feature::kHeads;
  return features;
}

}  // namespace coterie
