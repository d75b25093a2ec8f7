#include "tools/model/compensated_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tools/model/int8_range.h"

namespace coterie {
namespace {

constexpr double kDamping = .01;

// The order of rows in R: the dearest one last.
std::vector<size_t> cheapest_first(std::span<const double> moments, size_t rows) {
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return moments[i * rows + i]; });
  return order;
}

// R of the damped moments, rows in this order; none: a number is not finite.
std::optional<std::vector<double>> cholesky(std::span<const double> moments, const std::vector<size_t>& order) {
  const size_t n = order.size();
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += moments[i * n + i];
  const double damping = trace > 0 ? kDamping * trace / static_cast<double>(n) : 1;
  std::vector<double> r(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) r[i * n + j] = moments[order[i] * n + order[j]];
    r[i * n + i] += damping;
  }
  for (size_t i = 0; i < n; ++i) {
    double* const row = r.data() + i * n;
    if (!(row[i] > 0) || std::isinf(row[i])) return std::nullopt;
    const double root = std::sqrt(row[i]);
    for (size_t j = i; j < n; ++j) row[j] /= root;
    for (size_t k = i + 1; k < n; ++k) {
      double* const below = r.data() + k * n;
      for (size_t j = k; j < n; ++j) below[j] -= row[k] * row[j];
    }
  }
  return r;
}

// Times the scale that the weights came with: what makes up for others goes beyond their range, and in few bits a finer
// scale with cut ends often loses less.
constexpr float kScaleFactors[] = {1, .95f, .9f, .85f, .8f, .75f, .7f, .6f, .5f, 1.1f, 1.2f, 1.35f};

// The outputs of a group on one scale each.
struct Rounding {
  std::vector<int16_t> integers;  // [rows in the order of R, outputs]
  std::vector<double> cost;       // of each output: |R e|^2
};

Rounding rounded(std::span<const double> exact, std::span<const float> scales, const std::vector<double>& r, size_t n,
                 uint32_t bits) {
  const size_t outputs = scales.size();
  Rounding made{.integers = std::vector<int16_t>(n * outputs), .cost = std::vector<double>(outputs)};
  std::vector<double> lost(n * outputs), asked(outputs);
  for (size_t i = n; i-- > 0;) {
    const double pivot = r[i * n + i];
    std::ranges::fill(asked, 0.0);
    for (size_t j = i + 1; j < n; ++j) {
      const double share = r[i * n + j] / pivot;
      for (size_t o = 0; o < outputs; ++o) asked[o] += share * lost[j * outputs + o];
    }
    for (size_t o = 0; o < outputs; ++o) {
      const size_t at = i * outputs + o;
      made.integers[at] = integer_on(static_cast<float>(exact[at] + asked[o]), scales[o], bits);
      lost[at] = exact[at] - static_cast<double>(scales[o]) * made.integers[at];
      made.cost[o] += std::pow(pivot * (lost[at] + asked[o]), 2);
    }
  }
  return made;
}

}  // namespace

StoredWeights compensated(std::span<const float> values, StoredWeights weights, const InputMoments& moments) {
  const size_t n = moments.rows, outputs = values.size() / n, in_group = outputs / moments.groups;
  for (size_t g = 0; g < moments.groups; ++g) {
    const std::span<const double> matrix = std::span(moments.values).subspan(g * n * n, n * n);
    const std::vector<size_t> order = cheapest_first(matrix, n);
    const std::optional<std::vector<double>> r = cholesky(matrix, order);
    if (!r) continue;
    const auto place = [&](size_t i, size_t o) { return order[i] * outputs + g * in_group + o; };
    std::vector<double> exact(n * in_group);
    for (size_t i = 0; i < n; ++i) {
      for (size_t o = 0; o < in_group; ++o) exact[i * in_group + o] = static_cast<double>(values[place(i, o)]);
    }
    const std::span<float> kept = std::span(weights.form.scales).subspan(g * in_group, in_group);
    const std::vector<float> given(kept.begin(), kept.end());
    std::vector<double> least(in_group, std::numeric_limits<double>::infinity());
    for (const float factor : kScaleFactors) {
      std::vector<float> scales;
      for (const float scale : given) scales.push_back(std::max(scale * factor, std::numeric_limits<float>::min()));
      const Rounding made = rounded(exact, scales, *r, n, weights.form.bits);
      for (size_t o = 0; o < in_group; ++o) {
        if (!(made.cost[o] < least[o])) continue;
        least[o] = made.cost[o], kept[o] = scales[o];
        for (size_t i = 0; i < n; ++i) weights.values[place(i, o)] = made.integers[i * in_group + o];
      }
    }
  }
  return weights;
}

}  // namespace coterie
