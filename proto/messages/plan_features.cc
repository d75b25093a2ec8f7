#include "proto/messages/plan_features.h"

#include "proto/messages/plan.h"

namespace coterie {

PlanFeatures features_of(const Plan& plan) {
  PlanFeatures features = 0;
  if (plan.analytics && plan.analytics->kind == AnalyticsKind::evaluation) features |= plan_feature::kEvaluation;
  return features;
}

}  // namespace coterie
