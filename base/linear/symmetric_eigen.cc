#include "base/linear/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace coterie {
namespace {

constexpr int kIterationsMax = 60;  // an eigenvalue takes two or three

// std::hypot has other bits with other libraries; squares of what was float32 fit into a double.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

// The rotation that takes (x, y) to (length, 0). In a matrix of low rank both may be so short that their squares
// vanish.
struct Turn {
  double c, s, length;

  static Turn of(double x, double y) {
    constexpr double kSquaresLeast = 1e-290;  // from here on they have all digits
    if (const double squares = x * x + y * y; !(squares < kSquaresLeast)) {
      const double r = std::sqrt(squares);
      return {x / r, y / r, r};
    }
    const double longer = std::max(std::fabs(x), std::fabs(y));
    if (longer == 0) return {1, 0, 0};
    const Turn scaled = of(x / longer, y / longer);
    return {scaled.c, scaled.s, longer * scaled.length};
  }
};

// Vectors lie in rows, so that all inner loops run along memory: row(i)[k] is what the source calls z(k, i).
struct Work {
  size_t n;
  double* v;
  double* d;  // the diagonal
  double* e;  // the one beside it

  double* row(size_t i) const { return v + i * n; }
};

// Step i of the reduction: the reflection that clears row i left of its last but one.
void reflect(const Work& w, size_t i) {
  double* const d = w.d;
  double* const e = w.e;
  double scale = 0, h = 0;
  for (size_t k = 0; k < i; ++k) scale += std::fabs(d[k]);
  if (!(scale > 0)) {
    e[i] = d[i - 1];
    for (size_t k = 0; k < i; ++k) {
      d[k] = w.row(k)[i - 1];
      w.row(k)[i] = w.row(i)[k] = 0;
    }
    d[i] = 0;
    return;
  }
  for (size_t k = 0; k < i; ++k) {
    d[k] /= scale;
    h += d[k] * d[k];
  }
  const double f = d[i - 1], g = f > 0 ? -std::sqrt(h) : std::sqrt(h);
  e[i] = scale * g;
  h -= f * g;
  d[i - 1] = f - g;
  std::fill_n(e, i, 0.0);
  for (size_t k = 0; k < i; ++k) {
    double* const row = w.row(k);
    w.row(i)[k] = d[k];
    double sum = e[k] + row[k] * d[k];
    for (size_t j = k + 1; j < i; ++j) {
      sum += row[j] * d[j];
      e[j] += row[j] * d[k];
    }
    e[k] = sum;
  }
  double dot = 0;
  for (size_t k = 0; k < i; ++k) {
    e[k] /= h;
    dot += e[k] * d[k];
  }
  const double half = dot / (h + h);
  for (size_t k = 0; k < i; ++k) e[k] -= half * d[k];
  for (size_t k = 0; k < i; ++k) {
    double* const row = w.row(k);
    const double dk = d[k], ek = e[k];
    for (size_t j = k; j < i; ++j) row[j] -= dk * e[j] + ek * d[j];
    d[k] = row[i - 1];
    row[i] = 0;
  }
  d[i] = h;
}

// All reflections, one behind the other.
void accumulate(const Work& w) {
  const size_t n = w.n;
  for (size_t i = 0; i + 1 < n; ++i) {
    w.row(i)[n - 1] = w.row(i)[i];
    w.row(i)[i] = 1;
    const double h = w.d[i + 1];
    double* const next = w.row(i + 1);
    if (h != 0) {
      for (size_t k = 0; k <= i; ++k) w.d[k] = next[k] / h;
      for (size_t j = 0; j <= i; ++j) {
        double* const row = w.row(j);
        double g = 0;
        for (size_t k = 0; k <= i; ++k) g += next[k] * row[k];
        for (size_t k = 0; k <= i; ++k) row[k] -= g * w.d[k];
      }
    }
    std::fill_n(next, i + 1, 0.0);
  }
  for (size_t k = 0; k < n; ++k) w.d[k] = std::exchange(w.row(k)[n - 1], 0.0);
  w.row(n - 1)[n - 1] = 1;
  w.e[0] = 0;
}

void rotate(const Work& w, size_t i, double c, double s) {
  double* const low = w.row(i);
  double* const high = w.row(i + 1);
  for (size_t k = 0; k < w.n; ++k) {
    const double h = high[k];
    high[k] = s * low[k] + c * h;
    low[k] = c * low[k] - s * h;
  }
}

// One sweep from m down to l, with the shift that is taken off the diagonal; returns it.
double sweep(const Work& w, size_t l, size_t m) {
  double* const d = w.d;
  double* const e = w.e;
  const double g = d[l];
  double p = (d[l + 1] - g) / (2 * e[l]);
  const double r0 = p < 0 ? -length(p, 1) : length(p, 1);
  d[l] = e[l] / (p + r0);
  d[l + 1] = e[l] * (p + r0);
  const double next = d[l + 1], before = e[l + 1], shift = g - d[l];
  for (size_t i = l + 2; i < w.n; ++i) d[i] -= shift;
  p = d[m];
  double c = 1, c2 = 1, c3 = 1, s = 0, s2 = 0;
  for (size_t i = m; i-- > l;) {
    c3 = c2;
    c2 = c;
    s2 = s;
    const double a = c * e[i], h = c * p;
    const Turn turn = Turn::of(p, e[i]);
    e[i + 1] = s * turn.length;
    s = turn.s;
    c = turn.c;
    p = c * d[i] - s * a;
    d[i + 1] = h + s * (c * a + s * d[i]);
    rotate(w, i, c, s);
  }
  p = -s * s2 * c3 * before * e[l] / next;
  e[l] = s * p;
  d[l] = c * p;
  return shift;
}

void diagonalise(const Work& w) {
  double* const d = w.d;
  double* const e = w.e;
  const size_t n = w.n;
  for (size_t i = 1; i < n; ++i) e[i - 1] = e[i];
  e[n - 1] = 0;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  double shifts = 0, largest = 0;
  for (size_t l = 0; l < n; ++l) {
    largest = std::max(largest, std::fabs(d[l]) + std::fabs(e[l]));
    size_t m = l;
    while (m + 1 < n && std::fabs(e[m]) > kEpsilon * largest) ++m;
    for (int i = 0; m > l && i < kIterationsMax; ++i) {
      shifts += sweep(w, l, m);
      if (!(std::fabs(e[l]) > kEpsilon * largest)) break;
    }
    d[l] += shifts;
    e[l] = 0;
  }
}

}  // namespace

void symmetric_eigen(size_t n, double* matrix, double* values, double* scratch) {
  if (n == 0) return;
  const Work work{n, matrix, values, scratch};
  for (size_t k = 0; k < n; ++k) values[k] = work.row(k)[n - 1];
  for (size_t i = n - 1; i > 0; --i) reflect(work, i);
  accumulate(work);
  diagonalise(work);
}

}  // namespace coterie
