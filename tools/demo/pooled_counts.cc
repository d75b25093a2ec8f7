#include "tools/demo/pooled_counts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "device_sdk/runtime/dataset_source.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "scheduler/job/analytics_result.h"
#include "scheduler/job/analytics_rules.h"
#include "tools/cli/table.h"
#include "tools/demo/demo_data.h"

namespace coterie {
namespace {

using Take = std::function<void(uint32_t device, std::span<const float> input, float target)>;

Status for_each_example(const DemoData& data, uint32_t input_values, const Take& take) {
  std::vector<float> input(input_values);
  float target = 0;
  const Example::Place places[] = {input};
  const Example example(places, {&target, 1});
  for (uint32_t device = 0; device < data.devices; ++device) {
    COT_ASSIGN(Bytes file, data.shard_file(device));
    COT_ASSIGN(DatasetSource source, DatasetSource::load(std::move(file)));
    for (uint64_t i = 0; i < source.size(); ++i) {
      COT_TRY(source.read(i, example));
      take(device, input, target);
    }
  }
  return {};
}

Result<std::vector<float>> pooled_counts(const AnalyticsRules& rules, const DemoData& data) {
  std::vector<float> counts(lane_count(rules));
  COT_TRY(for_each_example(data, rules.input_values, [&](uint32_t, std::span<const float> input, float target) {
    if (const std::optional<uint64_t> lane = lane_of(rules, input, target)) ++counts[*lane];
  }));
  return counts;
}

// Where the newest round of a histogram that refines has its edges.
std::vector<double> edges_of(const nlohmann::json& bins) {
  std::vector<double> edges;
  for (const nlohmann::json& bin : bins) {
    if (bin.contains("from") && bin["from"].is_number()) edges.push_back(bin["from"]);
  }
  return edges;
}

Result<std::string> verdict_on_bins(const nlohmann::json& answer, AnalyticsSettings asked, const DemoData& data) {
  const nlohmann::json& bins = answer.at("bins");
  if (asked.refines) asked.edges = edges_of(bins);
  COT_ASSIGN(const std::vector<float> pooled, pooled_counts(rules_of(asked), data));
  double most = 0;
  for (size_t i = 0; i < pooled.size() && i < bins.size(); ++i) {
    most = std::max(most, std::abs(bins[i].value("count", 0.0) - static_cast<double>(pooled[i])));
  }
  return most == 0 ? "every count is that of all examples together"
                   : "counts are at most " + format_digits(most) + " off those of all examples together";
}

Result<std::string> verdict_on_distinct(const AnalyticsSettings& asked, const DemoData& data) {
  COT_ASSIGN(const std::vector<float> pooled, pooled_counts(rules_of(asked), data));
  const AnalyticsResult truth = result_of(asked, pooled, 0);
  return "all examples together, in the same buckets: " + std::to_string(truth.distinct->occupied) + " occupied";
}

// How many devices have each string, by its bytes in hexadecimal.
Result<std::map<std::string, double>> devices_by_string(const AnalyticsRules& rules, const DemoData& data) {
  const HitterRules& hitters = *rules.hitters;
  std::set<std::pair<std::string, uint32_t>> owned;
  COT_TRY(for_each_example(data, rules.input_values, [&](uint32_t device, std::span<const float> input, float) {
    const std::optional<std::string> text = string_of(hitters, input.subspan(rules.feature, hitters.length_max));
    const auto is_counted = [&](char byte) {
      return hitters.alphabet.empty() || std::ranges::binary_search(hitters.alphabet, static_cast<uint8_t>(byte));
    };
    if (text && !text->empty() && std::ranges::all_of(*text, is_counted))
      owned.emplace(to_hex(as_bytes(*text)), device);
  }));
  std::map<std::string, double> devices;
  for (const auto& [text, device] : owned) ++devices[text];
  return devices;
}

Result<std::string> verdict_on_strings(const nlohmann::json& answer, const AnalyticsSettings& asked,
                                       const DemoData& data) {
  COT_ASSIGN(const auto devices, devices_by_string(rules_of(asked), data));
  std::map<std::string, double> told;
  for (const nlohmann::json& one : answer.at("strings")) {
    const bool is_text = one.contains("text");
    told[is_text ? to_hex(as_bytes(one["text"].get<std::string>())) : one.at("hex").get<std::string>()] = one["count"];
  }
  const double threshold = answer.at("threshold");
  size_t frequent = 0, found = 0;
  double most = 0;
  for (const auto& [text, count] : devices) {
    const auto one = told.find(text);
    if (count >= threshold) ++frequent;
    if (one == told.end()) continue;
    if (count >= threshold) ++found;
    most = std::max(most, std::abs(one->second - count));
  }
  const std::string had = " that " + format_digits(threshold) + " devices or more have ";
  if (found == frequent && found == told.size() && most == 0) {
    return "every string" + had + "is told, with its count, and no other";
  }
  return "of " + counted(frequent, "string") + had + std::to_string(found) + (found == 1 ? " is" : " are") +
         " told, and beside them " + std::to_string(told.size() - found) + "; counts are at most " +
         format_digits(most) + " off";
}

}  // namespace

uint64_t most_examples(const DemoData& data) {
  uint64_t most = 1;
  for (const std::vector<uint32_t>& counts : data.label_counts) {
    uint64_t own = 0;
    for (const uint32_t count : counts) own += count;
    most = std::max(most, own);
  }
  return most;
}

Result<std::string> verdict_on(const nlohmann::json& answer, const HorizontalSettings& job, const DemoData& data) {
  const AnalyticsSettings& asked = *job.analytics;
  if (asked.rules.kind == AnalyticsKind::distinct) return verdict_on_distinct(asked, data);
  const bool has_all = asked.rules.values_max >= most_examples(data);
  if (!has_all) return "each device has counted " + counted(asked.rules.values_max, "example") + " of its own";
  return asked.rules.hitters ? verdict_on_strings(answer, asked, data) : verdict_on_bins(answer, asked, data);
}

}  // namespace coterie
