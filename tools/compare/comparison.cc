#include "tools/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kNameColumnsMax = 32;

std::map<uint64_t, double> by_seed(const Variant& variant) {
  std::map<uint64_t, double> scores;
  for (const RunRecord& run : variant.runs) scores.emplace(run.seed, run.score);
  return scores;
}

// Rounds that one of the runs has not, or has no score of, are left out: a mean over fewer runs would jump.
std::vector<BandPoint> curve_of(const Variant& variant) {
  std::map<uint64_t, std::vector<double>> by_round;
  for (const RunRecord& run : variant.runs) {
    for (const RunRound& round : run.rounds) {
      if (round.score) by_round[round.number].push_back(*round.score);
    }
  }
  std::vector<BandPoint> curve;
  for (const auto& [round, values] : by_round) {
    if (values.size() == variant.runs.size()) curve.push_back({round, mean_interval(values)});
  }
  return curve;
}

// Shares in percent; R2 as it is, for below 0 it is no share.
std::string points(double score, RunMetric metric) {
  return metric == RunMetric::r2 ? format_fixed(score, 3) : format_fixed(100 * score, 1);
}

std::string band(const MeanInterval& interval, RunMetric metric) {
  return interval.half_width ? "+-" + points(*interval.half_width, metric) : "-";
}

// "+1.2 +-0.4 *": the star is for an interval without 0.
std::string difference(const MeanInterval& interval, RunMetric metric) {
  std::string text = (interval.mean >= 0 ? "+" : "") + points(interval.mean, metric);
  if (!interval.half_width) return text;
  text += " +-" + points(*interval.half_width, metric);
  return std::abs(interval.mean) > *interval.half_width ? text + " *" : text;
}

nlohmann::ordered_json interval_json(const MeanInterval& interval) {
  nlohmann::ordered_json json = {{"mean", interval.mean}, {"runs", interval.count}};
  if (interval.half_width) json["half_width"] = *interval.half_width;
  return json;
}

// By RFC 4180.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

}  // namespace

std::vector<ComparedVariant> compare(const std::vector<Variant>& variants) {
  COT_ASSERT(!variants.empty() && variants.size() <= kVariantsMax);
  const std::map<uint64_t, double> first = by_seed(variants[0]);
  std::vector<ComparedVariant> compared;
  for (const Variant& variant : variants) {
    COT_ASSERT(!variant.runs.empty());
    std::vector<double> scores, losses;
    for (const RunRecord& run : variant.runs) {
      scores.push_back(run.score);
      if (std::isfinite(run.loss)) losses.push_back(run.loss);
    }
    ComparedVariant one;
    one.name = variant.name;
    one.metric = variant.runs.front().metric;
    one.score = mean_interval(scores);
    if (losses.size() == scores.size()) one.loss = mean_interval(losses);
    one.best = *std::ranges::max_element(scores);
    if (&variant != variants.data()) one.to_first = paired_difference(first, by_seed(variant));
    one.curve = curve_of(variant);
    compared.push_back(std::move(one));
  }
  return compared;
}

std::string comparison_table(const std::vector<ComparedVariant>& compared) {
  const RunMetric metric = compared.front().metric;
  Table table({{"variant"},
               {"runs", Table::Align::right},
               {metric == RunMetric::r2 ? "R2" : "accuracy %", Table::Align::right},
               {"95 %", Table::Align::right},
               {"best", Table::Align::right},
               {"to the first"}});
  for (const ComparedVariant& one : compared) {
    table.add({shortened(one.name, kNameColumnsMax), std::to_string(one.score.count), points(one.score.mean, metric),
               band(one.score, metric), points(one.best, metric),
               one.to_first ? difference(*one.to_first, metric) : "-"});
  }
  return table.text();
}

nlohmann::ordered_json to_json(const std::vector<ComparedVariant>& compared) {
  const std::string name(to_string(compared.front().metric));
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const ComparedVariant& one : compared) {
    nlohmann::ordered_json json = {{"name", one.name}, {name, interval_json(one.score)}, {name + "_best", one.best}};
    if (one.loss) json["loss"] = interval_json(*one.loss);
    if (one.to_first) json["to_first"] = interval_json(*one.to_first);
    variants.push_back(std::move(json));
  }
  return {{"schema", "coterie.comparison.v1"}, {"variants", std::move(variants)}};
}

std::string comparison_csv(const std::vector<ComparedVariant>& compared) {
  std::string csv = "variant,round,runs," + std::string(to_string(compared.front().metric)) + ",half_width\n";
  for (const ComparedVariant& one : compared) {
    for (const BandPoint& point : one.curve) {
      csv += csv_cell(one.name) + "," + std::to_string(point.round) + "," + std::to_string(point.score.count) + "," +
             format_fixed(point.score.mean, 6) + "," +
             (point.score.half_width ? format_fixed(*point.score.half_width, 6) : "") + "\n";
    }
  }
  return csv;
}

}  // namespace coterie
