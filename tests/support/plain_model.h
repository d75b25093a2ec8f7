// Model files for those who finalize rounds or move a version to the next, and never train: one parameter and nothing
// else, or a norm.
#pragma once

#include <algorithm>
#include <span>
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

// A norm: scale, bias, mean and variance, each of up to 16 values with padding behind them.
inline Bytes normed_model(const std::vector<float>& weights, const std::vector<float>& statistics) {
  ModelGraph graph;
  graph.name = "normed";
  const auto channels = static_cast<int64_t>(statistics.size() / 2);
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {channels}},
                   {.name = "scale", .role = TensorRole::parameter, .shape = {channels}},
                   {.name = "bias", .role = TensorRole::parameter, .shape = {channels}, .payload_offset = 64},
                   {.name = "mean", .role = TensorRole::state, .shape = {channels}, .payload_offset = 128},
                   {.name = "variance", .role = TensorRole::state, .shape = {channels}, .payload_offset = 192},
                   {.name = "y"}};
  graph.ops = {{OpKind::batch_norm, "norm", {0, 1, 2, 3, 4}, {5}, default_attributes(OpKind::batch_norm)}};
  graph.inputs = {0};
  graph.output = 5;
  std::vector<float> payload(64);
  std::ranges::copy(std::span(weights).first(static_cast<size_t>(channels)), payload.begin());
  std::ranges::copy(std::span(weights).last(static_cast<size_t>(channels)), payload.begin() + 16);
  std::ranges::copy(std::span(statistics).first(static_cast<size_t>(channels)), payload.begin() + 32);
  std::ranges::copy(std::span(statistics).last(static_cast<size_t>(channels)), payload.begin() + 48);
  Bytes file = encode_head(graph, payload.size() * sizeof(float));
  const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  file.insert(file.end(), bytes, bytes + payload.size() * sizeof(float));
  return file;
}

}  // namespace coterie::test
