#include "device_sdk/runtime/metrics.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double ratio(uint64_t part, uint64_t whole) { return ratio(static_cast<double>(part), static_cast<double>(whole)); }

bool is_above(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

ClassMetrics::ClassMetrics(uint32_t classes, uint32_t top_k)
    : top_k_(top_k), labelled_(classes), predicted_(classes), agreed_(classes) {
  COT_ASSERT(classes > 0 && top_k > 0);
}

void ClassMetrics::add(std::span<const float> scores, uint32_t label) {
  COT_ASSERT(scores.size() == labelled_.size() && label < scores.size());
  size_t best = 0, above = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (is_above(scores[i], scores[best])) best = i;
    // Among equals the first is the larger, as for `best`: what is correct is among the first k, too.
    if (is_above(scores[i], scores[label]) || (i < label && !is_above(scores[label], scores[i]))) ++above;
  }
  ++rows_;
  ++labelled_[label];
  ++predicted_[best];
  if (best == label) {
    ++agreed_[label];
    ++correct_;
  }
  if (above < top_k_) ++correct_in_top_;
  if (scores.size() == 2) ranked_.push_back({scores[1] - scores[0], label});
}

double ClassMetrics::accuracy() const { return ratio(correct_, rows_); }

double ClassMetrics::top_k_accuracy() const { return ratio(correct_in_top_, rows_); }

MacroScores ClassMetrics::macro() const {
  MacroScores sum;
  double classes = 0;
  for (size_t i = 0; i < labelled_.size(); ++i) {
    if (labelled_[i] + predicted_[i] == 0) continue;
    ++classes;
    sum.precision += ratio(agreed_[i], predicted_[i]);
    sum.recall += ratio(agreed_[i], labelled_[i]);
    sum.f1 += ratio(2 * agreed_[i], predicted_[i] + labelled_[i]);
  }
  return {ratio(sum.precision, classes), ratio(sum.recall, classes), ratio(sum.f1, classes)};
}

std::optional<double> ClassMetrics::auc() const {
  if (labelled_.size() != 2 || labelled_[0] == 0 || labelled_[1] == 0) return std::nullopt;
  std::vector<Ranked> sorted = ranked_;
  if (std::any_of(sorted.begin(), sorted.end(), [](const Ranked& row) { return std::isnan(row.score); })) {
    return std::nullopt;
  }
  std::sort(sorted.begin(), sorted.end(), [](const Ranked& a, const Ranked& b) { return a.score < b.score; });
  double rank_sum = 0;  // of class 1; equal scores share the mean of their ranks
  for (size_t from = 0; from < sorted.size();) {
    size_t to = from, ones = 0;
    for (; to < sorted.size() && sorted[to].score == sorted[from].score; ++to) ones += sorted[to].label;
    rank_sum += static_cast<double>(ones) * static_cast<double>(from + 1 + to) / 2;
    from = to;
  }
  const double zeros = static_cast<double>(labelled_[0]), ones = static_cast<double>(labelled_[1]);
  return (rank_sum - ones * (ones + 1) / 2) / (ones * zeros);
}

void ValueMetrics::add(float predicted, float expected) {
  const double difference = static_cast<double>(predicted) - static_cast<double>(expected);
  ++values_;
  absolute_sum_ += std::abs(difference);
  squared_sum_ += difference * difference;
  const double from_mean = static_cast<double>(expected) - expected_mean_;
  expected_mean_ += from_mean / static_cast<double>(values_);
  expected_squares_ += from_mean * (static_cast<double>(expected) - expected_mean_);
}

double ValueMetrics::mean_absolute_error() const { return ratio(absolute_sum_, static_cast<double>(values_)); }

std::optional<double> ValueMetrics::r2() const {
  if (!(expected_squares_ > 0)) return std::nullopt;
  return 1 - squared_sum_ / expected_squares_;
}

double ValueMetrics::root_mean_squared_error() const {
  return std::sqrt(ratio(squared_sum_, static_cast<double>(values_)));
}

}  // namespace coterie
