#include "fl_server/json/analytics_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/utf8.h"
#include "fl_server/json/importance_json.h"
#include "fl_server/json/ranges_json.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/range_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"

namespace coterie {
namespace {

// `model`, and `before` where it is compared with another; how long they are the server notes.
EvaluationRules read_evaluation(JsonReader& own, std::vector<std::string>& classes) {
  EvaluationRules rules;
  EvaluatedModel model, before;
  own.require("model");
  own.read("model", model.digest);
  own.read("model_bytes", model.bytes);
  if (own.has("before")) {
    own.read("before", before.digest);
    own.read("before_bytes", before.bytes);
    own.read("harm_max", rules.harm_max);
    rules.models.push_back(before);
  }
  rules.models.push_back(model);
  own.require("classes");
  own.read("classes", classes);
  own.read("score_bins", rules.score_bins);
  return rules;
}

void add_evaluation(nlohmann::json& own, const AnalyticsSettings& analytics) {
  const EvaluationRules& rules = *analytics.rules.evaluation;
  const EvaluatedModel& model = rules.models.back();
  own["model"] = model.digest.hex();
  own["model_bytes"] = model.bytes;
  if (rules.compares()) {
    own["before"] = rules.models.front().digest.hex();
    own["before_bytes"] = rules.models.front().bytes;
    own["harm_max"] = rules.harm_max;
  }
  own["classes"] = analytics.classes;
  own["score_bins"] = rules.score_bins;
  add_importance(own, analytics);
  own.erase("source");
}

// Bytes of the alphabet as a text. What devices have is UTF-8, whose bytes over 127 no text could name one by one.
void read_alphabet(JsonReader& own, HitterRules& rules) {
  std::string text;
  own.read("alphabet", text);
  rules.alphabet.assign(text.begin(), text.end());
  std::ranges::sort(rules.alphabet);
}

HitterRules read_hitters(JsonReader& own, uint32_t& threshold) {
  HitterRules rules;
  own.require("length_max");
  own.read("length_max", rules.length_max);
  read_alphabet(own, rules);
  own.read("prefixes_max", rules.prefixes_max);
  own.require("threshold");
  own.read("threshold", threshold);
  return rules;
}

void add_hitters(nlohmann::json& own, const AnalyticsSettings& analytics) {
  const HitterRules& rules = *analytics.rules.hitters;
  own["length_max"] = rules.length_max;
  own["prefixes_max"] = rules.prefixes_max;
  own["threshold"] = analytics.threshold;
  if (!rules.alphabet.empty()) own["alphabet"] = std::string(rules.alphabet.begin(), rules.alphabet.end());
}

// Bytes that are no UTF-8, as the begin of a letter, have no text: they are told in hexadecimal.
nlohmann::json to_json(const CountedString& counted, double noise_deviation) {
  const double error = kNormal95 * noise_deviation;
  nlohmann::json json = {{"count", counted.count},
                         {"low", std::max(0.0, counted.count - error)},
                         {"high", std::max(0.0, counted.count + error)}};
  if (is_utf8(counted.text)) json["text"] = counted.text;
  else json["hex"] = to_hex(as_bytes(counted.text));
  if (counted.may_go_on) json["may_go_on"] = true;
  return json;
}

nlohmann::json to_json(const ScoredGroup& group) {
  return {{"devices", group.devices},
          {"examples", group.examples},
          {"correct", group.correct},
          {"accuracy", to_json(group.accuracy)},
          {"loss", to_json(group.loss)}};
}

nlohmann::json to_json(const AnalyticsSettings& analytics, const EvaluatedModelResult& result) {
  nlohmann::json json = to_json(result.all);
  json["model"] = result.model.hex();
  json["groups"] = nlohmann::json::array();
  for (const ScoredGroup& group : result.groups) {
    nlohmann::json one = to_json(group);
    one["name"] = group.name;
    json["groups"].push_back(std::move(one));
  }
  json["confusion"] = result.confusion;
  json["auc"] = nlohmann::json::array();
  for (const AreaUnderCurve& area : result.areas) {
    json["auc"].push_back({{"class", area.of_class}, {"low", area.low}, {"high", area.high}});
  }
  json["devices_by_accuracy"] = result.accuracies;
  json["worst_tenth"] = nlohmann::json();
  if (result.worst_tenth) json["worst_tenth"] = {{"from", result.worst_tenth->from}, {"to", result.worst_tenth->to}};
  if (!result.importance.empty()) json["importance"] = to_json(analytics, result.importance);
  return json;
}

}  // namespace

void read_analytics(JsonReader& reader, HorizontalSettings& settings) {
  if (!reader.has("analytics")) return;
  JsonReader own = reader.object("analytics");
  AnalyticsSettings analytics;
  AnalyticsRules& rules = analytics.rules;
  own.require("kind");
  own.read_kind("kind", analytics_kind_names(), rules.kind);
  own.read("column", analytics.column);
  const bool evaluates = rules.kind == AnalyticsKind::evaluation;
  const bool has_ranges = rules.kind == AnalyticsKind::activation_ranges;
  if (!evaluates && !has_ranges) own.require("source");
  own.read_kind("source", analytics_source_names(), rules.source);
  own.require("input_values");
  own.read("input_values", rules.input_values);
  own.read("feature", rules.feature);
  if (own.has("missing_feature")) own.read("missing_feature", rules.missing_feature.emplace(0));
  own.read("edges", analytics.edges);
  own.read("categories", analytics.categories);
  own.read("mean", analytics.mean);
  own.read("deviation", analytics.deviation);
  own.read("quantiles", analytics.quantiles);
  own.read("buckets", rules.buckets);
  if (evaluates) {
    rules.evaluation = read_evaluation(own, analytics.classes);
    read_importance(own, analytics);
    rules.values_max = kEvaluatedValues;
  }
  if (has_ranges) {
    rules.evaluation = read_ranges(own);
    rules.values_max = kRangedValues;
  }
  own.read("refine", analytics.refines);
  if (rules.kind == AnalyticsKind::heavy_hitters) rules.hitters = read_hitters(own, analytics.threshold);
  own.read("values_max", rules.values_max);
  rules.lane_max = rules.kind == AnalyticsKind::distinct ? 1 : rules.values_max;
  if (evaluates) rules.lane_max = evaluation_lane_max(rules.values_max);
  if (has_ranges) rules.lane_max = range_lane_max(*rules.evaluation->ranges, rules.values_max);
  own.read("lane_max", rules.lane_max);
  own.finish();
  set_defaults(analytics, settings);
  settings.analytics = std::move(analytics);
}

void add_analytics(nlohmann::json& job, const HorizontalSettings& settings) {
  if (!settings.analytics) return;
  const AnalyticsSettings& analytics = *settings.analytics;
  const AnalyticsRules& rules = analytics.rules;
  nlohmann::json& own = job["analytics"];
  own = {{"kind", to_string(rules.kind)},
         {"source", to_string(rules.source)},
         {"input_values", rules.input_values},
         {"values_max", rules.values_max},
         {"lane_max", rules.lane_max}};
  if (!analytics.column.empty()) own["column"] = analytics.column;
  if (rules.feature != 0) own["feature"] = rules.feature;
  if (rules.missing_feature) own["missing_feature"] = *rules.missing_feature;
  if (!analytics.edges.empty()) own["edges"] = analytics.edges;
  if (!analytics.categories.empty()) own["categories"] = analytics.categories;
  if (analytics.mean != 0) own["mean"] = analytics.mean;
  if (analytics.deviation != 1) own["deviation"] = analytics.deviation;
  if (!analytics.quantiles.empty()) own["quantiles"] = analytics.quantiles;
  if (rules.buckets != 0) own["buckets"] = rules.buckets;
  if (rules.kind == AnalyticsKind::activation_ranges) add_ranges(own, analytics);
  else if (rules.evaluation) add_evaluation(own, analytics);
  if (rules.hitters) add_hitters(own, analytics);
  if (analytics.refines) own["refine"] = true;
  // What is at its default there says nothing; `update` says how far a device may move the table.
  for (const char* key : {"training", "strategy"}) job.erase(key);
}

nlohmann::json to_json(const AnalyticsSettings& analytics, const EvaluationResult& result) {
  nlohmann::json json = {{"schema", "coterie.evaluation_result.v1"},
                         {"column", analytics.column},
                         {"classes", analytics.classes},
                         {"confidence", 0.95},
                         {"models", nlohmann::json::array()},
                         {"comparison", nlohmann::json()}};
  for (const EvaluatedModelResult& model : result.models) json["models"].push_back(to_json(analytics, model));
  if (const std::optional<Comparison>& compared = result.comparison) {
    json["comparison"] = {{"verdict", to_string(compared->verdict)},
                          {"devices", compared->devices},
                          {"harm", compared->harm},
                          {"low", compared->low},
                          {"high", compared->high},
                          {"harm_max", analytics.rules.evaluation->harm_max}};
  }
  return json;
}

nlohmann::json to_json(const AnalyticsSettings& analytics, const HeavyHitters& found, double noise_deviation) {
  nlohmann::json json = {{"schema", "coterie.analytics_result.v1"},
                         {"kind", to_string(analytics.rules.kind)},
                         {"column", analytics.column},
                         {"noise_deviation", noise_deviation},
                         {"confidence", 0.95},
                         {"threshold", found.threshold},
                         {"left_out", found.left_out},
                         {"strings", nlohmann::json::array()},
                         {"prefixes", nlohmann::json::array()}};
  for (const CountedString& one : found.strings) json["strings"].push_back(to_json(one, noise_deviation));
  for (const CountedString& one : found.prefixes) json["prefixes"].push_back(to_json(one, noise_deviation));
  return json;
}

nlohmann::json to_json(const AnalyticsSettings& analytics, const AnalyticsResult& result) {
  nlohmann::json json = {{"schema", "coterie.analytics_result.v1"},
                         {"kind", to_string(analytics.rules.kind)},
                         {"column", analytics.column},
                         {"noise_deviation", result.noise_deviation},
                         {"confidence", 0.95}};
  if (const std::optional<DistinctCount>& distinct = result.distinct) {
    json["distinct"] = {{"estimate", or_null(distinct->estimate)}, {"low", or_null(distinct->low)},
                        {"high", or_null(distinct->high)},         {"buckets", distinct->buckets},
                        {"occupied", distinct->occupied},          {"threshold", distinct->threshold},
                        {"seen_from", distinct->seen_from}};
    return json;
  }
  json["bins"] = nlohmann::json::array();
  for (const CountedBin& bin : result.bins) {
    nlohmann::json one = {{"count", bin.count}, {"low", bin.low}, {"high", bin.high}};
    if (bin.from || bin.to) {  // of numbers; a category's name may be empty
      one["from"] = or_null(bin.from);
      one["to"] = or_null(bin.to);
    } else {
      one["name"] = bin.name;
    }
    json["bins"].push_back(std::move(one));
  }
  json["quantiles"] = nlohmann::json::array();
  for (const QuantileRange& range : result.quantiles) {
    json["quantiles"].push_back(
        {{"quantile", range.quantile}, {"from", or_null(range.from)}, {"to", or_null(range.to)}});
  }
  return json;
}

nlohmann::json analytics_answer(const HorizontalSettings& settings, std::span<const std::vector<float>> blocks,
                                double noise, double noise_of_round) {
  const AnalyticsSettings& analytics = *settings.analytics;
  if (analytics.rules.kind == AnalyticsKind::activation_ranges) return ranges_answer(analytics, blocks.front(), noise);
  if (analytics.rules.evaluation) return to_json(analytics, evaluation_result_of(analytics, blocks.front()));
  if (analytics.rules.hitters) return to_json(analytics, heavy_hitters_of(settings, blocks), noise_of_round);
  if (!analytics.asks_anew()) return to_json(analytics, result_of(analytics, blocks.front(), noise));
  // The newest round's edges are the closest.
  const RefinedResult refined = refined_result(settings, blocks, noise_of_round);
  return to_json(refined.asked, refined.result);
}

}  // namespace coterie
