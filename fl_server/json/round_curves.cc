#include "fl_server/json/round_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"

namespace coterie {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kSummed[] = {"accepted", "seconds"};
constexpr double kWholeMax = 9'007'199'254'740'992.0;  // 2^53: up to here a double has each whole number

// The least and the greatest value in [begin, end), the earlier first; gaps where there is none.
std::pair<double, double> extremes(const std::vector<double>& values, size_t begin, size_t end) {
  size_t low = end, high = end;
  for (size_t at = begin; at < end; ++at) {
    if (std::isnan(values[at])) continue;
    if (low == end || values[at] < values[low]) low = at;
    if (high == end || values[at] > values[high]) high = at;
  }
  if (low == end) return {kGap, kGap};
  return {values[std::min(low, high)], values[std::max(low, high)]};
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::isnan(value) ? 0 : value;
  return sum;
}

nlohmann::json shown(double value, bool is_exact) {
  if (std::isnan(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) <= kWholeMax) return static_cast<int64_t>(value);
  const auto single = static_cast<float>(value);
  return is_exact || !std::isfinite(single) ? value : readable(single);
}

}  // namespace

void RoundCurves::set(const std::string& column, double value) {
  if (!std::isfinite(value)) return;
  std::vector<double>& values = columns_[column];
  values.resize(rounds_.size(), kGap);
  values.back() = value;
}

void RoundCurves::reverse() {
  std::ranges::reverse(rounds_);
  for (auto& [name, values] : columns_) {
    values.resize(rounds_.size(), kGap);
    std::ranges::reverse(values);
  }
}

RoundCurves RoundCurves::thinned(size_t points) const {
  points = std::max(points, kCurvePointsMin);
  const size_t count = rounds_.size();
  RoundCurves thin;
  if (count <= points) {
    thin = *this;
    for (auto& [name, values] : thin.columns_) values.resize(count, kGap);
    return thin;
  }
  // Each stretch has two rounds or more: there are more rounds than points.
  const size_t stretches = (points - 1) / 2, before_last = count - 1;
  const auto begin_of = [&](size_t stretch) { return stretch * before_last / stretches; };
  for (size_t i = 0; i < stretches; ++i) {
    thin.rounds_.push_back(rounds_[begin_of(i)]);
    thin.rounds_.push_back(rounds_[begin_of(i + 1) - 1]);
  }
  thin.rounds_.push_back(rounds_.back());
  for (const auto& [name, values] : columns_) {
    std::vector<double> whole = values;
    whole.resize(count, kGap);
    std::vector<double>& kept = thin.columns_[name];
    for (size_t i = 0; i < stretches; ++i) {
      const auto [first, second] = extremes(whole, begin_of(i), begin_of(i + 1));
      kept.push_back(first);
      kept.push_back(second);
    }
    kept.push_back(whole.back());
  }
  return thin;
}

nlohmann::json to_json(const RoundCurves& curves, size_t points) {
  const RoundCurves thin = curves.thinned(points);
  const bool is_exact = thin.rounds().size() == curves.rounds().size();
  nlohmann::json columns = nlohmann::json::object();
  for (const auto& [name, values] : thin.columns()) {
    nlohmann::json& column = columns[name] = nlohmann::json::array();
    for (const double value : values) column.push_back(shown(value, is_exact));
  }
  nlohmann::json sums = nlohmann::json::object();
  for (const char* name : kSummed) {
    const auto column = curves.columns().find(name);
    if (column != curves.columns().end()) sums[name] = shown(sum_of(column->second), true);
  }
  return {{"rounds", curves.rounds().size()},
          {"exact", is_exact},
          {"round", thin.rounds()},
          {"columns", std::move(columns)},
          {"sums", std::move(sums)}};
}

}  // namespace coterie
