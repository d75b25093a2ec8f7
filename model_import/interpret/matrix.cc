// Products of matrices.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// As numpy.matmul: a vector is a row on the left and a column on the right, and that dimension goes again.
Result<Outputs> compute_matmul(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  Array a = call.operand(0), b = call.operand(1);
  if (a.rank() == 0 || b.rank() == 0) return bad_form("an operand without dimensions");
  const bool is_row = a.rank() == 1, is_column = b.rank() == 1;
  if (is_row) a.shape.insert(a.shape.begin(), 1);
  if (is_column) b.shape.push_back(1);
  const int64_t m = a.shape[a.rank() - 2], k = a.shape.back(), n = b.shape.back();
  if (b.shape[b.rank() - 2] != k) return bad_form("inner dimensions that differ");
  const Shape leading_a(a.shape.begin(), a.shape.end() - 2), leading_b(b.shape.begin(), b.shape.end() - 2);
  COT_ASSIGN(const Shape leading, broadcast_shape(leading_a, leading_b));
  Shape shape = leading;
  shape.insert(shape.end(), {m, n});
  COT_ASSIGN(Array y, zeros_like(a, shape));
  if (y.values.empty() || k == 0) return bad_form("an operand without elements");
  const auto rows = static_cast<size_t>(m), inner = static_cast<size_t>(k), columns = static_cast<size_t>(n);
  for_each_index(leading, [&](const Index& index, size_t number) {
    const double* left = a.values.data() + broadcast_offset(leading_a, index) * rows * inner;
    const double* right = b.values.data() + broadcast_offset(leading_b, index) * inner * columns;
    double* to = y.values.data() + number * rows * columns;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t p = 0; p < inner; ++p) {
        for (size_t j = 0; j < columns; ++j) to[i * columns + j] += left[i * inner + p] * right[p * columns + j];
      }
    }
  });
  if (is_column) y.shape.pop_back();
  if (is_row) y.shape.erase(y.shape.end() - (is_column ? 1 : 2));
  return one(std::move(y));
}

// alpha A' B' + beta C
Result<Outputs> compute_gemm(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &a = call.operand(0), &b = call.operand(1);
  if (a.rank() != 2 || b.rank() != 2) return bad_form("operands that are no matrices");
  const bool turns_a = call.node.integer("transA", 0) != 0, turns_b = call.node.integer("transB", 0) != 0;
  const auto alpha = static_cast<double>(call.node.real("alpha", 1)),
             beta = static_cast<double>(call.node.real("beta", 1));
  const int64_t m = a.shape[turns_a ? 1 : 0], k = a.shape[turns_a ? 0 : 1], n = b.shape[turns_b ? 0 : 1];
  if (b.shape[turns_b ? 1 : 0] != k) return bad_form("inner dimensions that differ");
  COT_ASSIGN(Array y, zeros_like(a, {m, n}));
  if (call.has(2)) {
    COT_ASSIGN(const Shape shape, broadcast_shape(y.shape, call.operand(2).shape));
    if (shape != y.shape) return bad_form("an addend that does not broadcast to the product");
  }
  for_each_index(y.shape, [&](const Index& index, size_t number) {
    double sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      const size_t left = static_cast<size_t>(turns_a ? p * m + index[0] : index[0] * k + p);
      const size_t right = static_cast<size_t>(turns_b ? index[1] * k + p : p * n + index[1]);
      sum += a.values[left] * b.values[right];
    }
    y.values[number] = alpha * sum;
    if (call.has(2)) y.values[number] += beta * call.operand(2).values[broadcast_offset(call.operand(2).shape, index)];
  });
  return one(std::move(y));
}

// By elimination with the largest pivot.
double determinant_of(std::vector<double> m, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(&m[k * n], &m[k * n] + n, &m[pivot * n]);
      product = -product;
    }
    product *= m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

Result<Outputs> compute_determinant(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() < 2 || x.shape.back() != x.shape[x.rank() - 2] || x.shape.back() < 1 || x.shape.back() > 1 << 10)
    return bad_form("an operand that is no square matrix of at most 1024 rows");
  COT_ASSIGN(Array y, zeros_like(x, Shape(x.shape.begin(), x.shape.end() - 2)));
  const auto n = static_cast<size_t>(x.shape.back());
  for (size_t i = 0; i < y.values.size(); ++i) {
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(i * n * n);
    y.values[i] = determinant_of({first, first + static_cast<std::ptrdiff_t>(n * n)}, n);
  }
  return one(std::move(y));
}

}  // namespace

Operator matrix_operator(const std::string& op) {
  if (op == "Det") return compute_determinant;
  if (op == "MatMul") return compute_matmul;
  return op == "Gemm" ? compute_gemm : nullptr;
}

}  // namespace coterie::model_import
