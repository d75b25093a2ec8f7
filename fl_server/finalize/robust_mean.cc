#include "fl_server/finalize/robust_mean.h"

#include <algorithm>

#include "aggregation/robust/registry.h"
#include "fl_server/finalize/value_overlaps.h"

namespace coterie {

Result<RobustMean> RobustMean::of(std::unique_ptr<const RuleRows> rows, const AggregationSettings& aggregation,
                                  uint64_t value_count, std::span<const ValueRange> parameters,
                                  UpdateCosines* cosines) {
  RobustMean mean(std::move(rows), aggregation, value_count, parameters, cosines);
  if (aggregation.rule->needs_distances()) COT_TRY(mean.choose());
  return mean;
}

Status RobustMean::choose() {
  // A window is all rows' values at [first, first + count): [rows, count], row-major. Distances are sums over values,
  // so that they can be added up window by window.
  UpdateDistances distances(weights_.size());
  Window window;
  for (uint64_t first = 0; first < value_count_; first += window.count) {
    COT_TRY(load(first, window));
    for_each_overlap(parameters_, first, window.count,
                     [&](uint64_t begin, uint64_t count) { distances.add(begin, window.rows(begin, count)); });
  }
  const std::vector<double> alike(weights_.size(), 1);
  // How much of the mean each row is. The values themselves are read once more, by read(): they do not fit into memory.
  shares_.resize(weights_.size());
  aggregation_.rule->choose(distances, aggregation_.rule->weighs ? weights_ : alike, aggregation_.values, shares_);
  return {};
}

std::vector<std::span<const float>> RobustMean::Window::rows(uint64_t offset, uint64_t size) const {
  std::vector<std::span<const float>> rows;
  for (size_t row = 0; row * count < values.size(); ++row) {
    rows.push_back(std::span(values).subspan(row * count + (offset - first), size));
  }
  return rows;
}

Status RobustMean::load(uint64_t first, Window& window) const {
  // All rows' values at a place are needed at once, so more rows mean fewer places at a time, in the same memory.
  const uint64_t fit = std::max<uint64_t>(1, kWindowBytes / sizeof(float) / weights_.size());
  window.first = first;
  window.count = std::min(fit, value_count_ - first);
  window.values.resize(window.count * weights_.size());
  for (size_t row = 0; row < weights_.size(); ++row) {
    COT_TRY(rows_->load(row, first, std::span(window.values).subspan(row * window.count, window.count)));
  }
  return {};
}

void RobustMean::make(const Window& window, uint64_t first, std::span<float> result) const {
  make_result(*aggregation_.rule, {.rows = window.rows(first, result.size()),
                                   .shares = shares_,
                                   .settings = aggregation_.values,
                                   .result = result});
}

Status RobustMean::read(std::span<float> mean) {
  while (!mean.empty()) {
    const uint64_t end = window_.first + window_.count;
    if (values_read_ >= end) {
      COT_TRY(load(values_read_, window_));
      continue;
    }
    const std::span<float> part = mean.first(std::min<uint64_t>(mean.size(), end - values_read_));
    make(window_, values_read_, part);
    if (cosines_ != nullptr) {
      for_each_overlap(parameters_, values_read_, part.size(), [&](uint64_t begin, uint64_t count) {
        cosines_->add(begin, window_.rows(begin, count), part.subspan(begin - values_read_, count));
      });
    }
    values_read_ += part.size();
    mean = mean.subspan(part.size());
  }
  return {};
}

Result<std::vector<double>> RobustMean::peek(uint64_t first, uint64_t count) const {
  std::vector<double> values;
  Window window;
  while (values.size() < count) {
    const uint64_t at = first + values.size();
    COT_TRY(load(at, window));
    std::vector<float> part(std::min(window.count, count - values.size()));
    make(window, at, part);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

}  // namespace coterie
