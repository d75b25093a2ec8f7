#include "model_import/tflite_reference/sums.h"

#include <algorithm>
#include <numeric>

namespace coterie::model_import {
namespace {

Status check_shape(const KernelCall& call, const Shape& shape) {
  if (call.output().shape == shape) return {};
  return bad_form("the file gives its output another shape than its operands give");
}

template <typename T>
Result<std::vector<T>> convolved(const KernelCall& call, const Factors<T>& f) {
  const Shape &x = call.tensor(0).shape, &w = call.tensor(1).shape;
  const TfliteOptions& o = call.op.options;
  const bool is_depthwise = call.op.op == TfliteOp::depthwise_conv_2d;
  if (x.size() != 4 || w.size() != 4) return bad_form("a convolution that is not of images");
  const int64_t outputs = is_depthwise ? w[3] : w[0], each = is_depthwise ? 1 : w[3];
  if (x[3] % each != 0 || (is_depthwise && (w[0] != 1 || outputs % x[3] != 0)))
    return bad_form("weights for other channels");
  const int64_t groups = x[3] / each;
  if (outputs % groups != 0) return bad_form("weights for other groups");
  COT_ASSIGN(const Slide h, slide_of(x[1], w[1], o.stride_h, o.dilation_h, o.is_same));
  COT_ASSIGN(const Slide v, slide_of(x[2], w[2], o.stride_w, o.dilation_w, o.is_same));
  COT_TRY(check_shape(call, {x[0], h.out, v.out, outputs}));
  std::vector<T> sums;
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t row = 0; row < h.out; ++row) {
      for (int64_t column = 0; column < v.out; ++column) {
        for (int64_t to = 0; to < outputs; ++to) {
          const int64_t first = to / (outputs / groups) * each;  // channel
          T sum = 0;
          for (int64_t i = 0; i < w[1]; ++i) {
            const int64_t y = row * h.stride - h.before + i * h.dilation;
            if (y < 0 || y >= h.in) continue;
            for (int64_t j = 0; j < w[2]; ++j) {
              const int64_t z = column * v.stride - v.before + j * v.dilation;
              if (z < 0 || z >= v.in) continue;
              const int64_t pixel = ((n * x[1] + y) * x[2] + z) * x[3];
              for (int64_t c = 0; c < each; ++c) {
                const int64_t tap = is_depthwise ? (i * w[2] + j) * w[3] + to : ((to * w[1] + i) * w[2] + j) * w[3] + c;
                sum += f.x[static_cast<size_t>(pixel + first + c)] * f.w[static_cast<size_t>(tap)];
              }
            }
          }
          sums.push_back(sum);
        }
      }
    }
  }
  return sums;
}

// Each input adds to the outputs that its window covers.
template <typename T>
Result<std::vector<T>> spread(const KernelCall& call, const Factors<T>& f) {
  const Shape &x = call.tensor(2).shape, &w = call.tensor(1).shape, &y = call.output().shape;
  const TfliteOptions& o = call.op.options;
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || w[3] != x[3] || y[3] != w[0] || y[0] != x[0]) {
    return bad_form("a transposed convolution whose operands do not fit");
  }
  COT_ASSIGN(const Slide h, slide_of(y[1], w[1], o.stride_h, 1, o.is_same));
  COT_ASSIGN(const Slide v, slide_of(y[2], w[2], o.stride_w, 1, o.is_same));
  std::vector<T> sums(static_cast<size_t>(y[0] * y[1] * y[2] * y[3]));
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t row = 0; row < x[1]; ++row) {
      for (int64_t column = 0; column < x[2]; ++column) {
        const int64_t pixel = ((n * x[1] + row) * x[2] + column) * x[3];
        for (int64_t i = 0; i < w[1]; ++i) {
          const int64_t to_row = row * h.stride - h.before + i;
          if (to_row < 0 || to_row >= y[1]) continue;
          for (int64_t j = 0; j < w[2]; ++j) {
            const int64_t to_column = column * v.stride - v.before + j;
            if (to_column < 0 || to_column >= y[2]) continue;
            for (int64_t to = 0; to < y[3]; ++to) {
              T& sum = sums[static_cast<size_t>(((n * y[1] + to_row) * y[2] + to_column) * y[3] + to)];
              const int64_t tap = ((to * w[1] + i) * w[2] + j) * w[3];
              for (int64_t c = 0; c < w[3]; ++c) {
                sum += f.x[static_cast<size_t>(pixel + c)] * f.w[static_cast<size_t>(tap + c)];
              }
            }
          }
        }
      }
    }
  }
  return sums;
}

template <typename T>
Result<std::vector<T>> dense(const KernelCall& call, const Factors<T>& f) {
  const Shape& w = call.tensor(1).shape;
  if (w.size() != 2 || f.x.size() % static_cast<size_t>(w[1]) != 0) return bad_form("weights for other inputs");
  const size_t rows = f.x.size() / static_cast<size_t>(w[1]), in = static_cast<size_t>(w[1]);
  const Shape& y = call.output().shape;
  const auto size = static_cast<size_t>(std::accumulate(y.begin(), y.end(), int64_t{1}, std::multiplies<>()));
  if (size != rows * static_cast<size_t>(w[0]) || y.empty() || y.back() != w[0])
    return bad_form("an output of another shape than it computes");
  std::vector<T> sums;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t to = 0; to < static_cast<size_t>(w[0]); ++to) {
      T sum = 0;
      for (size_t i = 0; i < in; ++i) sum += f.x[row * in + i] * f.w[to * in + i];
      sums.push_back(sum);
    }
  }
  return sums;
}

template <typename T>
Result<std::vector<T>> matrices(const KernelCall& call, const Factors<T>& f) {
  const TfliteOptions& o = call.op.options;
  Shape a = call.tensor(0).shape, b = call.tensor(1).shape;
  if (a.size() < 2 || b.size() < 2) return bad_form("operands that are no matrices");
  const int64_t rows = a[a.size() - (o.adjoint_x ? 1 : 2)], inner = a[a.size() - (o.adjoint_x ? 2 : 1)];
  const int64_t columns = b[b.size() - (o.adjoint_y ? 2 : 1)];
  if (b[b.size() - (o.adjoint_y ? 1 : 2)] != inner) return bad_form("matrices that do not fit");
  const size_t rank = std::max(a.size(), b.size());
  Shape shape(rank, 1);
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  int64_t batches = 1;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return bad_form("batches that do not fit");
    shape[i] = std::max(a[i], b[i]);
    batches *= shape[i];
  }
  shape[rank - 2] = rows;
  shape[rank - 1] = columns;
  COT_TRY(check_shape(call, shape));
  std::vector<T> sums;
  for (int64_t n = 0; n < batches; ++n) {
    int64_t rest = n, at_a = 0, at_b = 0, step_a = rows * inner, step_b = inner * columns;
    for (size_t i = rank - 2; i-- > 0;) {
      const int64_t place = rest % shape[i];
      rest /= shape[i];
      at_a += a[i] == 1 ? 0 : place * step_a;
      at_b += b[i] == 1 ? 0 : place * step_b;
      step_a *= a[i];
      step_b *= b[i];
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        T sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          const int64_t left = o.adjoint_x ? k * rows + row : row * inner + k;
          const int64_t right = o.adjoint_y ? column * inner + k : k * columns + column;
          sum += f.x[static_cast<size_t>(at_a + left)] * f.w[static_cast<size_t>(at_b + right)];
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

}  // namespace

Result<Slide> slide_of(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, bool is_same) {
  Slide slide{.in = in, .out = 0, .kernel = kernel, .stride = stride, .dilation = dilation, .before = 0};
  const int64_t reach = dilation * (kernel - 1) + 1;
  slide.out = is_same ? (in + stride - 1) / stride : (in - reach + stride) / stride;
  if (slide.out < 1)
    return bad_form("a window of " + std::to_string(reach) + " that does not fit into " + std::to_string(in));
  slide.before = is_same ? std::max<int64_t>(0, (slide.out - 1) * stride + reach - in) / 2 : 0;
  return slide;
}

SumPlaces sum_places(TfliteOp op) {
  if (op == TfliteOp::transpose_conv) return {.x = 2, .w = 1, .bias = 3};
  return {};
}

bool is_sum(TfliteOp op) {
  return op == TfliteOp::conv_2d || op == TfliteOp::depthwise_conv_2d || op == TfliteOp::transpose_conv ||
         op == TfliteOp::fully_connected || op == TfliteOp::batch_matmul;
}

template <typename T>
Result<std::vector<T>> sums_of(const KernelCall& call, const Factors<T>& factors) {
  switch (call.op.op) {
    case TfliteOp::transpose_conv: return spread(call, factors);
    case TfliteOp::fully_connected: return dense(call, factors);
    case TfliteOp::batch_matmul: return matrices(call, factors);
    default: return convolved(call, factors);
  }
}

template Result<std::vector<double>> sums_of(const KernelCall&, const Factors<double>&);
template Result<std::vector<int64_t>> sums_of(const KernelCall&, const Factors<int64_t>&);

}  // namespace coterie::model_import
