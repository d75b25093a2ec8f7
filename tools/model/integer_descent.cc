#include "tools/model/integer_descent.h"

#include <vector>

#include "tools/model/int8_range.h"

namespace coterie {
namespace {

// Descents of some hundred rows end after three or four.
constexpr int kSweepsMax = 16;
// What is gained by a move beside the whole, for rounding not to move to and fro.
constexpr double kGainMin = 1e-12;

}  // namespace

double descend(const IntegerProblem& problem, float scale, std::span<int16_t> integers) {
  const size_t n = integers.size();
  const auto step = static_cast<double>(scale);
  std::vector<double> apart(n), slope(n);  // e, and A e
  for (size_t i = 0; i < n; ++i) apart[i] = problem.target[i] - step * integers[i];
  double cost = 0;
  for (size_t i = 0; i < n; ++i) {
    const double* const row = problem.matrix.data() + i * n;
    for (size_t j = 0; j < n; ++j) slope[i] += row[j] * apart[j];
    cost += slope[i] * apart[i];
  }
  bool has_moved = true;
  for (int sweep = 0; sweep < kSweepsMax && has_moved; ++sweep) {
    has_moved = false;
    for (size_t i = 0; i < n; ++i) {
      const double* const row = problem.matrix.data() + i * n;
      const int16_t best = integer_on(static_cast<float>(step * integers[i] + slope[i] / row[i]), scale, problem.bits);
      if (best == integers[i]) continue;
      const double move = step * (best - integers[i]);  // e_i shrinks by it
      const double grown = move * (move * row[i] - 2 * slope[i]);
      if (!(grown < -kGainMin * cost)) continue;
      integers[i] = best;
      for (size_t j = 0; j < n; ++j) slope[j] -= row[j] * move;
      cost += grown;
      has_moved = true;
    }
  }
  return cost;
}

float fitted_scale(const IntegerProblem& problem, std::span<const int16_t> integers) {
  const size_t n = integers.size();
  double with_target = 0, with_itself = 0;  // q^T A target, q^T A q
  for (size_t i = 0; i < n; ++i) {
    if (integers[i] == 0) continue;
    const double* const row = problem.matrix.data() + i * n;
    double to_target = 0, to_itself = 0;
    for (size_t j = 0; j < n; ++j) to_target += row[j] * problem.target[j], to_itself += row[j] * integers[j];
    with_target += integers[i] * to_target, with_itself += integers[i] * to_itself;
  }
  return with_target > 0 && with_itself > 0 ? static_cast<float>(with_target / with_itself) : 0;
}

}  // namespace coterie
