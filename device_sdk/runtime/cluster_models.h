// Model files that hold the models of several clusters (proto/messages/model_clusters.h), made of single ones and taken
// apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"

namespace coterie {

// How much models that are made of one differ at first (perturbed).
inline constexpr float kClusterSpread = 1;
inline constexpr float kClusterSpreadMax = 100;

// A file of models of one graph, in this order. invalid_argument: the graphs differ, there are too few or too many, or
// one of them holds several itself.
Result<Bytes> stack_models(std::span<const Model> models);

// Another model of the same form, by `perturb` (proto/messages/perturbed_values.h).
Result<Model> perturbed(const Model& model, float spread, uint64_t seed);

// A file of `count` models: the first is `model`, the others perturbed ones, each of a seed of its own.
Result<Bytes> stack_of_one(const Model& model, uint32_t count, float spread, uint64_t seed);

// The model of one cluster, from 0. invalid_argument: the file holds no such one; malformed: see graph_of_cluster.
Result<Model> cluster_model(const Model& stacked, uint32_t cluster);

// The values of one cluster's model where they lie in the file's; likewise.
Result<std::span<const float>> cluster_values(const Model& stacked, uint32_t cluster);

// invalid_argument if the file holds another number of models than the job says.
Status check_clusters(const Model& model, const TrainingSettings& training);

// All models of a job with clusters, in their order; none of another job. Errors: those of
// check_clusters and cluster_model.
Result<std::vector<Model>> cluster_models(const Model& model, const TrainingSettings& training);

}  // namespace coterie
