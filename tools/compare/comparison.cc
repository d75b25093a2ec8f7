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
  std::map<uint64_t, double> accuracy;
  for (const RunRecord& run : variant.runs) accuracy.emplace(run.seed, run.accuracy);
  return accuracy;
}

// Rounds that one of the runs has not, or has no accuracy of, are left out: a mean over fewer runs would jump.
std::vector<BandPoint> curve_of(const Variant& variant) {
  std::map<uint64_t, std::vector<double>> by_round;
  for (const RunRecord& run : variant.runs) {
    for (const RunRound& round : run.rounds) {
      if (round.accuracy) by_round[round.number].push_back(*round.accuracy);
    }
  }
  std::vector<BandPoint> curve;
  for (const auto& [round, values] : by_round) {
    if (values.size() == variant.runs.size()) curve.push_back({round, mean_interval(values)});
  }
  return curve;
}

std::string points(double ratio) { return format_fixed(100 * ratio, 1); }

std::string band(const MeanInterval& interval) {
  return interval.half_width ? "+-" + points(*interval.half_width) : "-";
}

// "+1.2 +-0.4 *": the star is for an interval without 0.
std::string difference(const MeanInterval& interval) {
  std::string text = (interval.mean >= 0 ? "+" : "") + points(interval.mean);
  if (!interval.half_width) return text;
  text += " +-" + points(*interval.half_width);
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
    std::vector<double> accuracies, losses;
    for (const RunRecord& run : variant.runs) {
      accuracies.push_back(run.accuracy);
      if (std::isfinite(run.loss)) losses.push_back(run.loss);
    }
    ComparedVariant one;
    one.name = variant.name;
    one.accuracy = mean_interval(accuracies);
    if (losses.size() == accuracies.size()) one.loss = mean_interval(losses);
    one.best = *std::ranges::max_element(accuracies);
    if (&variant != variants.data()) one.to_first = paired_difference(first, by_seed(variant));
    one.curve = curve_of(variant);
    compared.push_back(std::move(one));
  }
  return compared;
}

std::string comparison_table(const std::vector<ComparedVariant>& compared) {
  Table table({{"variant"},
               {"runs", Table::Align::right},
               {"accuracy %", Table::Align::right},
               {"95 %", Table::Align::right},
               {"best", Table::Align::right},
               {"to the first"}});
  for (const ComparedVariant& one : compared) {
    table.add({shortened(one.name, kNameColumnsMax), std::to_string(one.accuracy.count), points(one.accuracy.mean),
               band(one.accuracy), points(one.best), one.to_first ? difference(*one.to_first) : "-"});
  }
  return table.text();
}

nlohmann::ordered_json to_json(const std::vector<ComparedVariant>& compared) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const ComparedVariant& one : compared) {
    nlohmann::ordered_json json = {
        {"name", one.name}, {"accuracy", interval_json(one.accuracy)}, {"accuracy_best", one.best}};
    if (one.loss) json["loss"] = interval_json(*one.loss);
    if (one.to_first) json["to_first"] = interval_json(*one.to_first);
    variants.push_back(std::move(json));
  }
  return {{"schema", "coterie.comparison.v1"}, {"variants", std::move(variants)}};
}

std::string comparison_csv(const std::vector<ComparedVariant>& compared) {
  std::string csv = "variant,round,runs,accuracy,half_width\n";
  for (const ComparedVariant& one : compared) {
    for (const BandPoint& point : one.curve) {
      csv += csv_cell(one.name) + "," + std::to_string(point.round) + "," + std::to_string(point.accuracy.count) + "," +
             format_fixed(point.accuracy.mean, 6) + "," +
             (point.accuracy.half_width ? format_fixed(*point.accuracy.half_width, 6) : "") + "\n";
    }
  }
  return csv;
}

}  // namespace coterie
