// A graph that holds k models of one form side by side: the clusters of a job (IFCA, Ghosh et al. 2020). It is a graph
// as any other, so that versions, deltas, digests, promotion and retention know no more of it:
//
//   tensors   those of the model, then k - 1 times all but its inputs and constants, which all copies share
//   ops       those of the model, then k - 1 times the same on their own tensors
//   output    the first copy's: who runs the graph as it is asks the first cluster
//   payload   k times the model's, each filled up with zeros to a whole number of parameter alignments
//   names     copy n from the second on has "cluster<n>/" before each
//
// The property "clusters" says k. Both ends call the same functions, so that cluster c is the same model to both. Pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/model.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

struct TrainingSettings;

// Clusters that a job may have: a device downloads and evaluates as many models.
inline constexpr uint32_t kClustersMin = 2, kClustersMax = 8;

// 1: it is one model. A graph that nobody has checked says it of itself.
uint32_t cluster_count(const ModelGraph& graph);
// Likewise of what a job trains.
uint32_t cluster_count(const TrainingSettings& training);

// Bytes of one copy's part of the payload, of a model whose payload has so many.
uint64_t cluster_payload_bytes(uint64_t payload_bytes);

// Errors: invalid_argument (count is not in its range, the graph is of several models itself, or a name becomes too
// long).
Result<ModelGraph> stack_graph(const ModelGraph& model, uint32_t count, uint64_t payload_bytes);

// The model that all copies of the graph are. malformed if the graph says that it holds several and is none that
// stack_graph makes.
Result<ModelGraph> graph_of_cluster(const ModelGraph& stacked);

// Bytes of each copy's part of the payload of such a graph; 0 of one that is none.
uint64_t copy_bytes(const ModelGraph& stacked);

}  // namespace coterie
