#include "device_sdk/watch/series.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::optional<RunawayLoss::Rise> RunawayLoss::add(double loss) {
  step_ += 1;
  total_ += loss;
  if (step_ == power_ / 4) quarter_ = total_;
  if (step_ == power_ / 2) half_ = total_;
  if (step_ > power_ - power_ / 4) least_ = std::min(least_, loss);
  if (step_ < power_) return std::nullopt;
  const Rise rise{.before = quarter_ / static_cast<double>(power_ / 4), .least = least_};
  power_ *= 2;
  quarter_ = half_;
  half_ = total_;
  least_ = std::numeric_limits<double>::max();
  if (rise.before <= 0 || rise.least <= kRatio * rise.before) return std::nullopt;
  return rise;
}

std::optional<LossWindows::Window> LossWindows::add(double loss_sum, uint64_t examples) {
  sum_ += loss_sum;
  examples_ += examples;
  taken_ += 1;
  std::optional<Window> runaway;
  if (!first_ && examples > 0) {
    const auto rise = runaway_.add(loss_sum / static_cast<double>(examples));
    if (rise) runaway = Window{rise->least, rise->before, rise->before};
  }
  if (taken_ < steps_ || examples_ == 0) return runaway;
  const double mean = sum_ / static_cast<double>(examples_);
  const Window window{mean, first_.value_or(mean), before_};
  if (!first_) first_ = mean;
  before_ = mean;
  sum_ = 0;
  taken_ = examples_ = 0;
  return runaway ? runaway : window;
}

NormHistory::Usual NormHistory::add(double norm) {
  Usual usual;
  usual.norms = norms_.size();
  if (!norms_.empty()) {
    sorted_ = norms_;
    usual.median = median(sorted_);
    for (double& value : sorted_) value = std::abs(value - usual.median);
    usual.deviation = median(sorted_);
  }
  if (!std::isfinite(norm)) return usual;
  if (norms_.size() < looks_) norms_.push_back(norm);
  else norms_[next_++ % looks_] = norm;
  return usual;
}

std::optional<double> LabelCounts::add(std::span<const int32_t> labels) {
  for (const int32_t label : labels) {
    if (label < 0 || static_cast<uint64_t>(label) >= now_.size()) continue;
    ++now_[static_cast<size_t>(label)];
    ++seen_now_;
  }
  if (seen_now_ < examples_) return std::nullopt;
  std::optional<double> distance;
  if (seen_before_ > 0) {
    double sum = 0;
    for (size_t i = 0; i < now_.size(); ++i) {
      sum += std::abs(static_cast<double>(now_[i]) / static_cast<double>(seen_now_) -
                      static_cast<double>(before_[i]) / static_cast<double>(seen_before_));
    }
    distance = sum / 2;
  }
  for (size_t i = 0; i < now_.size(); ++i) before_[i] += now_[i];
  seen_before_ += seen_now_;
  std::ranges::fill(now_, 0);
  seen_now_ = 0;
  return distance;
}

}  // namespace coterie
