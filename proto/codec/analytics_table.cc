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
#include "proto/messages/running_statistics.h"

namespace coterie {
namespace {

constexpr uint64_t kAlignment = 64;      // of a parameter in the payload (Tensor::payload_offset)
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

// Columns are numbered, so that a property has room for each.
void add_permuted(const ImportanceRules& rules, std::map<std::string, std::string>& question) {
  question["permuted.repeats"] = std::to_string(rules.repeats);
  for (size_t i = 0; i < rules.columns.size(); ++i) {
    question["permuted." + std::to_string(i)] =
        std::to_string(rules.columns[i].feature) + " " + std::to_string(rules.columns[i].width);
  }
}

// A tensor has a property, as its name may have any byte.
void add_ranges(const RangeRules& rules, std::map<std::string, std::string>& question) {
  question["range.bins"] = std::to_string(rules.exponent_low) + " " + std::to_string(rules.exponent_high) + " " +
                           std::to_string(rules.steps) + " " + std::to_string(rules.positions) +
                           (rules.is_normalised ? " normalised" : "");
  for (size_t i = 0; i < rules.tensors.size(); ++i) question["range." + std::to_string(i)] = rules.tensors[i];
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
    if (rules.evaluation->importance) add_permuted(*rules.evaluation->importance, question);
    if (rules.evaluation->ranges) add_ranges(*rules.evaluation->ranges, question);
  }
  if (rules.hitters) {
    question["length_max"] = std::to_string(rules.hitters->length_max);
    question["prefixes_max"] = std::to_string(rules.hitters->prefixes_max);
    for (const uint8_t byte : rules.hitters->alphabet) question["alphabet"] += std::to_string(byte) + " ";
  }
  for (size_t first = 0; first < rules.edges.size(); first += kEdgesAProperty) {
    const auto some = std::span(rules.edges).subspan(first, std::min(kEdgesAProperty, rules.edges.size() - first));
    question["edges." + std::to_string(first)] = edges_text(some);
  }
  return question;
}

}  // namespace

Bytes new_table(const AnalyticsRules& rules, uint32_t blocks) {
  const uint64_t lanes = lane_count(rules),
                 block_bytes = (lanes * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  const uint64_t payload_bytes = (blocks - 1) * block_bytes + lanes * sizeof(float);
  ModelGraph graph;
  graph.name = "table";
  graph.properties = question_of(rules);
  graph.tensors.push_back({.name = "examples", .role = TensorRole::input, .shape = {rules.input_values}});
  for (uint32_t i = 0; i < blocks; ++i) {
    const std::string name = blocks == 1 ? "counts" : "counts." + std::to_string(i + 1);
    graph.tensors.push_back({.name = name,
                             .role = TensorRole::parameter,
                             .shape = {static_cast<int64_t>(lanes)},
                             .payload_offset = i * block_bytes});
  }
  uint32_t sum = blocks + 1;
  graph.tensors.push_back({.name = "mean"});
  graph.ops = {{.kind = OpKind::reduce_mean,
                .name = "mean",
                .inputs = {0},
                .outputs = {sum},
                .attributes = ReduceAttributes{.axes = {1}}}};
  for (uint32_t i = 0; i < blocks; ++i) {
    const std::string name = i + 1 == blocks ? "output" : "sum." + std::to_string(i + 1);
    graph.tensors.push_back({.name = name});
    graph.ops.push_back({.kind = OpKind::add, .name = name, .inputs = {sum, i + 1}, .outputs = {sum + 1}});
    ++sum;
  }
  graph.inputs = {0};
  graph.output = sum;
  Bytes file = encode_head(graph, payload_bytes);
  file.resize(file.size() + payload_bytes);
  return file;
}

Result<std::vector<float>> read_table(const AnalyticsRules& rules, ByteView file) {
  COT_ASSIGN(CountBlocks blocks, read_blocks(rules, 1, file));
  return std::move(blocks.front());
}

Result<CountBlocks> read_blocks(const AnalyticsRules& rules, uint32_t blocks, ByteView file) {
  COT_ASSIGN(const Decoded<ModelGraph> model, decode_model(file));
  const std::vector<ValueRange> ranges = parameter_values(model.header);
  const uint64_t lanes = lane_count(rules);
  if (ranges.size() != blocks) {
    return Error(ErrorCode::malformed,
                 "table: has " + std::to_string(ranges.size()) + " blocks, the job's has " + std::to_string(blocks));
  }
  CountBlocks counts;
  for (const ValueRange& range : ranges) {
    if (range.count != lanes) {
      return Error(ErrorCode::malformed,
                   "table: has " + std::to_string(range.count) + " lanes, the job's has " + std::to_string(lanes));
    }
    counts.emplace_back(lanes);
    std::memcpy(counts.back().data(), model.payload.data() + range.first * sizeof(float), lanes * sizeof(float));
  }
  return counts;
}

}  // namespace coterie
