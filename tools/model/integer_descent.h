// The integers q of one output, moved one at a time to where e^T A e is least, e = target - scale * q.
//
// Each of them has its best place while the others stay: the nearest integer to q_i + (A e)_i / (A_ii scale). Where
// none has a better one, q is a local optimum. A rounding that looks at each integer once (compensated_rounding.h) ends
// short of it.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

struct IntegerProblem {
  std::span<const double> matrix;  // A [rows, rows]: symmetric, its diagonal above 0
  std::span<const double> target;  // [rows]
  uint32_t bits = 8;               // of an integer (stored_integers.h)
};

// Moves `integers` and returns what is left of e^T A e, which is never more than before.
double descend(const IntegerProblem& problem, float scale, std::span<int16_t> integers);

// The scale by which e^T A e is least; 0 where none above 0 is better than none.
float fitted_scale(const IntegerProblem& problem, std::span<const int16_t> integers);

}  // namespace coterie
