// PlanFeatures: what a plan may ask for that devices of before did not know, as a set of bits.
//
// A device says with each check-in which of them it knows. One that says nothing knows what plans could ask for before
// there was this set (ADR 136), and refuses by itself what it does not know of that. So a server draws nobody for a
// plan that it could not follow. A bit has one meaning for ever; one that nobody knows yet means nothing.
#pragma once

#include <cstdint>

namespace coterie {

struct Plan;

using PlanFeatures = uint64_t;

namespace plan_feature {
inline constexpr PlanFeatures kEvaluation = 1u << 0;         // analytics of kind evaluation (evaluation.h)
inline constexpr PlanFeatures kTopK = 1u << 1;               // the encoding top_k (top_k.h)
inline constexpr PlanFeatures kEden = 1u << 2;               // the encoding eden
inline constexpr PlanFeatures kScalars = 1u << 3;            // numbers that updates tell beside (update_scalars.h)
inline constexpr PlanFeatures kScaffoldGradient = 1u << 4;   // drift_correction.h
inline constexpr PlanFeatures kMimeLite = 1u << 5;           // likewise
inline constexpr PlanFeatures kPersonal = 1u << 6;           // personal_settings.h
inline constexpr PlanFeatures kWidths = 1u << 7;             // model_widths.h
inline constexpr PlanFeatures kClusters = 1u << 8;           // of kind clusters (model_clusters.h)
inline constexpr PlanFeatures kWatch = 1u << 9;              // a training that is watched (watch_settings.h)
inline constexpr PlanFeatures kGroups = 1u << 10;            // known by devices that are in one (group_weights.h)
inline constexpr PlanFeatures kHeavyHitters = 1u << 11;      // analytics of kind heavy_hitters (heavy_hitters.h)
inline constexpr PlanFeatures kMuon = 1u << 12;              // the optimizer muon
inline constexpr PlanFeatures kImportance = 1u << 13;        // an evaluation's importance (importance.h)
inline constexpr PlanFeatures kShampoo = 1u << 14;           // the optimizer shampoo
inline constexpr PlanFeatures kQat = 1u << 15;               // training on a grid (quantised_training.h)
inline constexpr PlanFeatures kIgnoreLabel = 1u << 16;       // ignore_label
inline constexpr PlanFeatures kHeads = 1u << 17;             // several outputs with a loss each (training_head.h)
inline constexpr PlanFeatures kNoisyWatch = 1u << 18;        // watch_noise.h
inline constexpr PlanFeatures kActivationRanges = 1u << 19;  // analytics of that kind (range_lanes.h)
}  // namespace plan_feature

// All that this version knows.
inline constexpr PlanFeatures kKnownFeatures =
    plan_feature::kEvaluation | plan_feature::kTopK | plan_feature::kEden | plan_feature::kScalars |
    plan_feature::kScaffoldGradient | plan_feature::kMimeLite | plan_feature::kPersonal | plan_feature::kWidths |
    plan_feature::kClusters | plan_feature::kWatch | plan_feature::kGroups | plan_feature::kHeavyHitters |
    plan_feature::kMuon | plan_feature::kImportance | plan_feature::kShampoo | plan_feature::kQat |
    plan_feature::kIgnoreLabel | plan_feature::kHeads | plan_feature::kNoisyWatch | plan_feature::kActivationRanges;

// Those that a device has to know for this plan.
PlanFeatures features_of(const Plan& plan);

}  // namespace coterie
