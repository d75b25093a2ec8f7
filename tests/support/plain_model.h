// A model file that is one parameter and nothing else: for those who finalize rounds and never train.
#pragma once

#include <vector>

#include "proto/codec/codec.h"

namespace coterie::test {

inline Bytes plain_model(const std::vector<float>& weights) {
  ModelGraph graph;
  graph.name = "plain";
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {1}},
                   {.name = "w", .role = TensorRole::parameter, .shape = {static_cast<int64_t>(weights.size())}},
                   {.name = "y"}};
  graph.ops = {{OpKind::relu, "relu", {0}, {2}, default_attributes(OpKind::relu)}};
  graph.inputs = {0};
  graph.output = 2;
  Bytes file = encode_head(graph, weights.size() * sizeof(float));
  const auto* payload = reinterpret_cast<const uint8_t*>(weights.data());
  file.insert(file.end(), payload, payload + weights.size() * sizeof(float));
  return file;
}

}  // namespace coterie::test
