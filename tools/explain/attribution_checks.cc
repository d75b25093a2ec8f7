#include "tools/explain/attribution_checks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"

namespace coterie {
namespace {

// What a curve is of, for each input.
Result<std::vector<double>> outputs_of(AskedModel& model, std::span<const float> inputs, uint32_t picked) {
  COT_ASSIGN(const std::vector<float> rows, model.answers(inputs));
  const size_t width = model.outputs();
  std::vector<double> outputs;
  for (size_t i = 0; i < rows.size(); i += width) {
    const auto row = std::span(rows).subspan(i, width);
    if (width == 1) {
      outputs.push_back(static_cast<double>(row[0]));
      continue;
    }
    const double highest = static_cast<double>(*std::ranges::max_element(row));
    double sum = 0;
    for (const float score : row) sum += std::exp(static_cast<double>(score) - highest);
    outputs.push_back(std::exp(static_cast<double>(row[picked]) - highest) / sum);
  }
  return outputs;
}

// The area under equally spaced points, by the trapezoidal rule, over [0, 1].
double area(std::span<const double> points) {
  double sum = -(points.front() + points.back()) / 2;
  for (const double point : points) sum += point;
  return sum / static_cast<double>(points.size() - 1);
}

std::vector<size_t> in_places(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

// Equals stay as `order` has them.
std::vector<size_t> descending(std::span<const float> values, std::vector<size_t> order) {
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return values[i]; });
  return order;
}

bool are_equal(std::span<const float> values) {
  return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

// Ranks from 0, twice: ties have their mean.
std::vector<double> ranks_of(std::span<const float> values) {
  const std::vector<size_t> order = descending(values, in_places(values.size()));
  std::vector<double> ranks(values.size());
  for (size_t from = 0; from < order.size();) {
    size_t to = from + 1;  // whatever equals itself or not
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (size_t i = from; i < to; ++i) ranks[order[i]] = static_cast<double>(from + to - 1);
    from = to;
  }
  return ranks;
}

void add_points(std::vector<double>& sum, const std::vector<double>& points, double share) {
  sum.resize(points.size());
  for (size_t i = 0; i < points.size(); ++i) sum[i] += share * points[i];
}

// All are of inputs of one size, and so of as many points.
void add(OrderCurves& sum, const OrderCurves& curves, double share) {
  sum.deletion += share * curves.deletion;
  sum.insertion += share * curves.insertion;
  add_points(sum.falling, curves.falling, share);
  add_points(sum.rising, curves.rising, share);
}

}  // namespace

Result<OrderCurves> order_curves(AskedModel& model, const Explanation& explanation, std::span<const size_t> order,
                                 float baseline) {
  const std::vector<float>& input = explanation.input;
  const size_t channels = input.size() / order.size(), steps = std::min<size_t>(kCurveSteps, order.size());
  std::vector<float> deleted, inserted;
  for (size_t step = 0; step <= steps; ++step) {
    const size_t gone = order.size() * step / steps;
    std::vector<float> without = input, with(input.size(), baseline);
    for (const size_t pixel : order.first(gone)) {
      for (size_t i = pixel * channels; i < (pixel + 1) * channels; ++i) {
        without[i] = baseline;
        with[i] = input[i];
      }
    }
    deleted.insert(deleted.end(), without.begin(), without.end());
    inserted.insert(inserted.end(), with.begin(), with.end());
  }
  COT_ASSIGN(const std::vector<double> falling, outputs_of(model, deleted, explanation.picked));
  COT_ASSIGN(const std::vector<double> rising, outputs_of(model, inserted, explanation.picked));
  return OrderCurves{area(falling), area(rising), falling, rising};
}

Result<Model> with_shuffled_weights(const Model& model, uint64_t seed) {
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  Prng prng(seed);
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    auto part = std::span(values).subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
    prng.shuffle(part);
  }
  return Model::load(model.file_with(values));
}

double rank_correlation(std::span<const float> a, std::span<const float> b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(x.size() - 1);  // of ranks that count twice
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Result<AttributionChecks> check_attributions(AskedModel& model, std::span<const Explanation> explanations,
                                             const AttributionMethod& method, const AttributionSettings& settings) {
  if (explanations.empty()) return Error(ErrorCode::invalid_argument, "there is no explanation to check");
  COT_ASSIGN(const Model shuffled, with_shuffled_weights(model.model(), settings.seed));
  COT_ASSIGN(AskedModel other, AskedModel::create(shuffled, model.go_on()));
  AttributionChecks checks;
  const auto count = static_cast<double>(explanations.size());
  Prng prng(settings.seed);
  for (const Explanation& one : explanations) {
    const std::vector<float>& values = one.attribution.values;
    COT_TRY(must_be_finite(one, method.name));
    std::vector<size_t> order = in_places(values.size()), last;
    OrderCurves own;
    CheckedExample& checked = checks.examples.emplace_back();
    for (uint32_t i = 0; i < kRandomOrders; ++i) {
      prng.shuffle(order);
      COT_ASSIGN(const OrderCurves random, order_curves(model, one, order, settings.baseline));
      add(checks.random, random, 1 / (count * kRandomOrders));
      checked.random_deletion += random.deletion / kRandomOrders;
      checked.random_insertion += random.insertion / kRandomOrders;
      std::vector<size_t> ranked = descending(values, order);
      if (ranked != last) {  // without ties it is one order
        COT_ASSIGN(own, order_curves(model, one, ranked, settings.baseline));
        last = std::move(ranked);
      }
      add(checks.own, own, 1 / (count * kRandomOrders));
      checked.deletion += own.deletion / kRandomOrders;
      checked.insertion += own.insertion / kRandomOrders;
    }
    Explanation shuffled_one{.example = one.example, .picked = one.picked};
    COT_ASSIGN(shuffled_one.attribution, method.attribute(other, one.input, one.picked, settings));
    COT_TRY(must_be_finite(shuffled_one, method.name));
    checks.randomised_correlation +=
        (are_equal(values) ? 1 : rank_correlation(values, shuffled_one.attribution.values)) / count;
  }
  return checks;
}

}  // namespace coterie
