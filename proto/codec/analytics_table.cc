#include "proto/codec/analytics_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "proto/codec/codec.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/model.h"

namespace coterie {
namespace {

constexpr size_t kEdgesAProperty = 128;  // each of 8 characters: within kDetailBytesMax

// The bits of each, in hexadecimal.
std::string edges_text(std::span<const float> edges) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const float edge : edges) {
    const auto bits = std::bit_cast<uint32_t>(edge);
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[bits >> shift & 15];
  }
  return text;
}

// What is asked, so that tables of other questions have other names: a device counts by name how often it answers.
std::map<std::string, std::string> question_of(const AnalyticsRules& rules) {
  std::map<std::string, std::string> question = {{"kind", std::string(to_string(rules.kind))},
                                                 {"source", std::string(to_string(rules.source))},
                                                 {"feature", std::to_string(rules.feature)},
                                                 {"categories", std::to_string(rules.categories)}};
  if (rules.evaluation) {
    question["classes"] = std::to_string(rules.evaluation->classes);
    question["score_bins"] = std::to_string(rules.evaluation->score_bins);
    for (size_t i = 0; i < rules.evaluation->models.size(); ++i) {
      question["model." + std::to_string(i)] = rules.evaluation->models[i].digest.hex();
    }
  }
  for (size_t first = 0; first < rules.edges.size(); first += kEdgesAProperty) {
    const auto some = std::span(rules.edges).subspan(first, std::min(kEdgesAProperty, rules.edges.size() - first));
    question["edges." + std::to_string(first)] = edges_text(some);
  }
  return question;
}

}  // namespace

Bytes new_table(const AnalyticsRules& rules) {
  const auto lanes = static_cast<int64_t>(lane_count(rules));
  const uint64_t payload_bytes = static_cast<uint64_t>(lanes) * sizeof(float);
  ModelGraph graph;
  graph.name = "table";
  graph.properties = question_of(rules);
  graph.tensors = {{.name = "examples", .role = TensorRole::input, .shape = {rules.input_values}},
                   {.name = "counts", .role = TensorRole::parameter, .shape = {lanes}},
                   {.name = "mean"},
                   {.name = "output"}};
  graph.ops = {{.kind = OpKind::reduce_mean,
                .name = "mean",
                .inputs = {0},
                .outputs = {2},
                .attributes = ReduceAttributes{.axes = {1}}},
               {.kind = OpKind::add, .name = "output", .inputs = {2, 1}, .outputs = {3}}};
  graph.inputs = {0};
  graph.output = 3;
  Bytes file = encode_head(graph, payload_bytes);
  file.resize(file.size() + payload_bytes);
  return file;
}

Result<std::vector<float>> read_table(const AnalyticsRules& rules, ByteView file) {
  COT_ASSIGN(const Decoded<ModelGraph> model, decode_model(file));
  std::vector<float> counts(lane_count(rules));
  if (model.payload.size() != counts.size() * sizeof(float)) {
    return Error(ErrorCode::malformed, "table: has " + std::to_string(model.payload.size() / sizeof(float)) +
                                           " lanes, the job's has " + std::to_string(counts.size()));
  }
  std::memcpy(counts.data(), model.payload.data(), model.payload.size());
  return counts;
}

}  // namespace coterie
