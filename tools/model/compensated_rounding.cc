#include "tools/model/compensated_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tools/model/int8_range.h"
#include "tools/model/integer_descent.h"

namespace coterie {
namespace {

constexpr double kDamping = .01;
// Times the scale that the weights came with: what makes up for others goes beyond their range, and in few bits a finer
// scale with cut ends often loses less.
constexpr float kScaleFactors[] = {1, .95f, .9f, .85f, .8f, .75f, .7f, .6f, .5f, 1.1f, 1.2f, 1.35f};
// Scales and integers that follow each other.
constexpr int kTurnsMax = 8;

// The order of rows in R: the dearest one last.
std::vector<size_t> cheapest_first(std::span<const double> moments, size_t rows) {
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return moments[i * rows + i]; });
  return order;
}

// What the outputs of a group lose, rows in the order of R.
struct Form {
  std::vector<size_t> order;
  double damping = 0;
  std::vector<double> matrix;  // A + l [rows, rows]
  std::vector<double> r;       // its upper factor; what lies below means nothing

  size_t rows() const { return order.size(); }
};

// None: a number is not finite.
std::optional<Form> form_of(std::span<const double> moments, size_t n) {
  Form form{.order = cheapest_first(moments, n), .matrix = std::vector<double>(n * n), .r = {}};
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += moments[i * n + i];
  form.damping = trace > 0 ? kDamping * trace / static_cast<double>(n) : 1;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) form.matrix[i * n + j] = moments[form.order[i] * n + form.order[j]];
    form.matrix[i * n + i] += form.damping;
  }
  std::vector<double>& r = form.r = form.matrix;
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
  return form;
}

// t of each output, [rows, outputs]: R^T R t = (C + l) w.
std::vector<double> targets(const Form& form, std::span<const double> cross, const std::vector<double>& weights) {
  const size_t n = form.rows(), outputs = weights.size() / n;
  std::vector<double> t(weights.size());
  for (size_t i = 0; i < n; ++i) {
    double* const row = t.data() + i * outputs;
    for (size_t j = 0; j < n; ++j) {
      const double share = cross[form.order[i] * n + form.order[j]] + (i == j ? form.damping : 0);
      for (size_t o = 0; o < outputs; ++o) row[o] += share * weights[j * outputs + o];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    double* const row = t.data() + i * outputs;
    for (size_t o = 0; o < outputs; ++o) row[o] /= form.r[i * n + i];
    for (size_t k = i + 1; k < n; ++k) {
      for (size_t o = 0; o < outputs; ++o) t[k * outputs + o] -= form.r[i * n + k] * row[o];
    }
  }
  for (size_t i = n; i-- > 0;) {
    double* const row = t.data() + i * outputs;
    for (size_t j = i + 1; j < n; ++j) {
      for (size_t o = 0; o < outputs; ++o) row[o] -= form.r[i * n + j] * t[j * outputs + o];
    }
    for (size_t o = 0; o < outputs; ++o) row[o] /= form.r[i * n + i];
  }
  return t;
}

// The integers of a group's outputs [rows, outputs], on one scale each.
std::vector<int16_t> nearest_plane(const Form& form, const std::vector<double>& exact, const std::vector<float>& scales,
                                   uint32_t bits) {
  const size_t n = form.rows(), outputs = scales.size();
  std::vector<int16_t> integers(n * outputs);
  std::vector<double> lost(n * outputs), asked(outputs);
  for (size_t i = n; i-- > 0;) {
    std::ranges::fill(asked, 0.0);
    for (size_t j = i + 1; j < n; ++j) {
      const double share = form.r[i * n + j] / form.r[i * n + i];
      for (size_t o = 0; o < outputs; ++o) asked[o] += share * lost[j * outputs + o];
    }
    for (size_t o = 0; o < outputs; ++o) {
      const size_t at = i * outputs + o;
      integers[at] = integer_on(static_cast<float>(exact[at] + asked[o]), scales[o], bits);
      lost[at] = exact[at] - static_cast<double>(scales[o]) * integers[at];
    }
  }
  return integers;
}

// One output.
struct Column {
  float scale = 1;
  std::vector<int16_t> integers;
  double cost = std::numeric_limits<double>::infinity();
};

// Scale and integers by turns, while less is lost.
void improve(const IntegerProblem& problem, Column& column) {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    Column next = column;
    next.scale = fitted_scale(problem, column.integers);
    if (!(next.scale >= std::numeric_limits<float>::min())) return;
    next.cost = descend(problem, next.scale, next.integers);
    if (!(next.cost < column.cost)) return;
    column = std::move(next);
  }
}

// The best of what each factor of its scale comes to. An output whose loss is no number has no integers.
std::vector<Column> rounded(const Form& form, const std::vector<double>& exact, std::span<const float> given,
                            uint32_t bits) {
  const size_t n = form.rows(), outputs = given.size();
  std::vector<double> target(n);
  const auto problem_of = [&](size_t o) {
    for (size_t i = 0; i < n; ++i) target[i] = exact[i * outputs + o];
    return IntegerProblem{.matrix = form.matrix, .target = target, .bits = bits};
  };
  std::vector<Column> best(outputs);
  for (const float factor : kScaleFactors) {
    std::vector<float> scales;
    for (const float scale : given) scales.push_back(std::max(scale * factor, std::numeric_limits<float>::min()));
    const std::vector<int16_t> integers = nearest_plane(form, exact, scales, bits);
    for (size_t o = 0; o < outputs; ++o) {
      Column column{.scale = scales[o], .integers = std::vector<int16_t>(n)};
      for (size_t i = 0; i < n; ++i) column.integers[i] = integers[i * outputs + o];
      column.cost = descend(problem_of(o), column.scale, column.integers);
      if (column.cost < best[o].cost) best[o] = std::move(column);
    }
  }
  for (size_t o = 0; o < outputs; ++o) {
    if (!best[o].integers.empty()) improve(problem_of(o), best[o]);
  }
  return best;
}

}  // namespace

StoredWeights compensated(std::span<const float> values, StoredWeights weights, const InputMoments& moments) {
  const size_t n = moments.rows, outputs = values.size() / n, in_group = outputs / moments.groups;
  for (size_t g = 0; g < moments.groups; ++g) {
    const std::optional<Form> form = form_of(std::span(moments.values).subspan(g * n * n, n * n), n);
    if (!form) continue;
    const auto place = [&](size_t i, size_t o) { return form->order[i] * outputs + g * in_group + o; };
    std::vector<double> exact(n * in_group);
    for (size_t i = 0; i < n; ++i) {
      for (size_t o = 0; o < in_group; ++o) exact[i * in_group + o] = static_cast<double>(values[place(i, o)]);
    }
    const std::vector<double> target = targets(*form, std::span(moments.cross).subspan(g * n * n, n * n), exact);
    if (!std::ranges::all_of(target, [](double value) { return std::isfinite(value); })) continue;
    const std::span<float> kept = std::span(weights.form.scales).subspan(g * in_group, in_group);
    const std::vector<Column> columns = rounded(*form, target, kept, weights.form.bits);
    for (size_t o = 0; o < in_group; ++o) {
      if (columns[o].integers.empty()) continue;
      kept[o] = columns[o].scale;
      for (size_t i = 0; i < n; ++i) weights.values[place(i, o)] = columns[o].integers[i];
    }
  }
  return weights;
}

std::vector<double> mean_shortfall(std::span<const float> values, std::span<const float> rounded_values,
                                   const InputMoments& moments) {
  const size_t outputs = values.size() / moments.rows, in_group = outputs / moments.groups;
  std::vector<double> shortfall(outputs);
  for (size_t at = 0; at < values.size(); ++at) {
    const size_t output = at % outputs, input = output / in_group * moments.rows + at / outputs;
    shortfall[output] += static_cast<double>(values[at]) * moments.exact_means[input] -
                         static_cast<double>(rounded_values[at]) * moments.means[input];
  }
  return shortfall;
}

}  // namespace coterie
