#include "tools/model/activation_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_sdk/runtime/int8_grid.h"
#include "tools/model/partial_model.h"

namespace coterie {
namespace {

constexpr double kCutAtEachEnd = 5e-5;
constexpr size_t kHeldMax = 1 << 24;  // 64 MiB
constexpr int kParts = 36;            // 1, .98, ... .3

double middle(const ActivationHistogram& histogram, size_t bin) {
  return histogram.low +
         (static_cast<double>(bin) + .5) * (histogram.high - histogram.low) / ActivationHistogram::kBins;
}

int rounded(const TensorGrid& grid, double value) {
  return static_cast<int>(
      std::clamp(std::nearbyint(value / static_cast<double>(grid.scale)) + grid.zero, -128.0, 127.0));
}

double squares_lost(const ActivationHistogram& histogram, const TensorGrid& grid) {
  double lost = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double value = middle(histogram, i);
    const double apart = value - static_cast<double>(grid.scale) * (rounded(grid, value) - grid.zero);
    lost += static_cast<double>(histogram.counts[i]) * apart * apart;
  }
  return lost;
}

// The histogram against itself with the values of each level spread over the bins of the level that have any.
double divergence(const ActivationHistogram& histogram, const TensorGrid& grid) {
  double in_level[256] = {}, bins_of_level[256] = {}, total = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const auto level = static_cast<size_t>(rounded(grid, middle(histogram, i)) + 128);
    in_level[level] += static_cast<double>(histogram.counts[i]);
    bins_of_level[level] += 1;
    total += static_cast<double>(histogram.counts[i]);
  }
  double sum = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const auto level = static_cast<size_t>(rounded(grid, middle(histogram, i)) + 128);
    const double p = static_cast<double>(histogram.counts[i]);
    sum += p / total * std::log(p * bins_of_level[level] / in_level[level]);
  }
  return sum;
}

template <typename Lost>
TensorGrid best_part(const ActivationHistogram& histogram, uint32_t tensor, const Lost& lost) {
  TensorGrid best = grid_over(histogram.low, histogram.high, tensor);
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kParts; ++step) {
    const double part = 1 - .02 * step;
    const TensorGrid grid = grid_over(histogram.low * part, histogram.high * part, tensor);
    const double found = lost(histogram, grid);
    if (found >= least) continue;
    least = found;
    best = grid;
  }
  return best;
}

TensorGrid percentile_grid(const ActivationHistogram& histogram, uint32_t tensor) {
  double total = 0;
  for (const uint64_t count : histogram.counts) total += static_cast<double>(count);
  const auto kept_from = [&](auto begin, auto end) {
    double passed = 0;
    auto bin = begin;
    while (bin != end && (passed += static_cast<double>(*bin)) <= kCutAtEachEnd * total) ++bin;
    return static_cast<double>(bin - begin) / ActivationHistogram::kBins;
  };
  const double width = histogram.high - histogram.low;
  return grid_over(histogram.low + width * kept_from(histogram.counts.begin(), histogram.counts.end()),
                   histogram.high - width * kept_from(histogram.counts.rbegin(), histogram.counts.rend()), tensor);
}

}  // namespace

std::string_view to_string(GridRule rule) {
  switch (rule) {
    case GridRule::min_max: return "min-max";
    case GridRule::percentile: return "percentile";
    case GridRule::least_mse: return "least MSE";
    case GridRule::divergence: return "least KL";
  }
  return "unknown";
}

Result<ActivationHistogram> activation_histogram(const Model& model, uint32_t tensor, ExampleSource& examples,
                                                 uint64_t target_elements) {
  ActivationHistogram histogram;
  std::vector<float> held;  // all values, if they are no more than kHeldMax: the model need not compute them again
  bool is_held = true;
  COT_TRY(for_each_activation(model, tensor, examples, target_elements, [&](std::span<const float> values) {
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      histogram.low = std::min(histogram.low, static_cast<double>(value));
      histogram.high = std::max(histogram.high, static_cast<double>(value));
    }
    is_held = is_held && values.size() <= kHeldMax - held.size();
    if (is_held) held.insert(held.end(), values.begin(), values.end());
    else held = {};
  }));
  const double width = histogram.high - histogram.low;
  if (width == 0) return histogram;
  const auto count = [&](std::span<const float> values) {
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      const double place = (static_cast<double>(value) - histogram.low) / width * ActivationHistogram::kBins;
      ++histogram.counts[std::min(static_cast<size_t>(place), ActivationHistogram::kBins - 1)];
    }
  };
  if (is_held) count(held);
  else COT_TRY(for_each_activation(model, tensor, examples, target_elements, count));
  return histogram;
}

TensorGrid grid_for(const ActivationHistogram& histogram, uint32_t tensor, GridRule rule) {
  switch (rule) {
    case GridRule::min_max: break;
    case GridRule::percentile: return percentile_grid(histogram, tensor);
    case GridRule::least_mse: return best_part(histogram, tensor, squares_lost);
    case GridRule::divergence: return best_part(histogram, tensor, divergence);
  }
  return grid_over(histogram.low, histogram.high, tensor);
}

}  // namespace coterie
