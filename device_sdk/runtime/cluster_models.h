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

// Another model of the same form: each weight w of a parameter whose weights have the root mean square r becomes
//
//   (w + spread r z) / sqrt(1 + spread^2)      z normal, of `seed`
//
// so that r stays. Running statistics, and parameters that are all 0, stay as they are.
Result<Model> perturbed(const Model& model, float spread, uint64_t seed);

// A file of `count` models: the first is `model`, the others perturbed ones, each of a seed of its own.
Result<Bytes> stack_of_one(const Model& model, uint32_t count, float spread, uint64_t seed);

// The model of one cluster, from 0. invalid_argument: the file holds no such one; malformed: see graph_of_cluster.
Result<Model> cluster_model(const Model& stacked, uint32_t cluster);

// All models of a job with clusters, in their order; none of another job. invalid_argument if the file holds another
// number than the job says.
Result<std::vector<Model>> cluster_models(const Model& model, const TrainingSettings& training);

}  // namespace coterie
