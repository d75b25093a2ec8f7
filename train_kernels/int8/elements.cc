#include "train_kernels/int8/elements.h"

#include <algorithm>

#include "train_kernels/int8/vector_kernels.h"
#include "train_kernels/reference/pool.h"

namespace coterie::kernels::int8 {
namespace {

// Calls visit(first pixel, rows, columns, pixels that count, y) of each window.
template <typename Visit>
void for_each_window(const Pool2dShape& s, const int8_t* x, int8_t* y, const Visit& visit) {
  for (size_t b = 0; b < s.batch; ++b, x += s.height * s.width * s.channels) {
    for (size_t i = 0; i < s.out_h(); ++i) {
      const reference::WindowSpan rows = reference::row_span(s, i);
      for (size_t j = 0; j < s.out_w(); ++j, y += s.channels) {
        const reference::WindowSpan columns = reference::column_span(s, j);
        visit(x + (rows.begin * s.width + columns.begin) * s.channels, rows.end - rows.begin,
              columns.end - columns.begin, rows.counted * columns.counted, y);
      }
    }
  }
}

// How many windows, of `left`, are as wide as this one and each a stride further: those that no padding cuts.
size_t windows_alike(const Pool2dShape& s, const reference::WindowSpan& columns, size_t left) {
  if (columns.end - columns.begin < s.kernel_w) return 1;
  return std::min(left, 1 + (s.width - columns.end) / s.stride_w);
}

}  // namespace

void quantise(Adder adder, const Grid& grid, size_t count, const float* x, int8_t* y) {
  const VectorKernels* const kernels = vector_kernels(adder);
  if (kernels == nullptr) return quantise(grid, count, x, y);
  kernels->quantise(grid, count, x, y);
}

void dequantise(Adder adder, const Grid& grid, size_t count, const int8_t* x, float* y) {
  const VectorKernels* const kernels = vector_kernels(adder);
  if (kernels == nullptr) return dequantise(grid, count, x, y);
  kernels->dequantise(grid, count, x, y);
}

void max_pool2d(Adder adder, const Pool2dShape& shape, const int8_t* x, int8_t* y) {
  const VectorKernels* const kernels = vector_kernels(adder);
  if (kernels == nullptr) return max_pool2d(shape, x, y);
  const Pool2dShape& s = shape;
  MaxTask task{.channels = s.channels,
               .rows = 0,
               .columns = 0,
               .row_stride = s.width * s.channels,
               .window_stride = s.stride_w * s.channels,
               .windows = 0,
               .x = x,
               .y = y,
               .x_end = x + reference::pool_inputs(s),
               .y_end = y + reference::pool_outputs(s)};
  for (size_t b = 0; b < s.batch; ++b, x += s.height * s.width * s.channels) {
    for (size_t i = 0; i < s.out_h(); ++i) {
      const reference::WindowSpan rows = reference::row_span(s, i);
      task.rows = rows.end - rows.begin;
      for (size_t j = 0; j < s.out_w(); j += task.windows) {
        const reference::WindowSpan columns = reference::column_span(s, j);
        task.columns = columns.end - columns.begin;
        task.windows = windows_alike(s, columns, s.out_w() - j);
        task.x = x + (rows.begin * s.width + columns.begin) * s.channels;
        kernels->max_windows(task);
        task.y += task.windows * s.channels;
      }
    }
  }
}

void average_pool2d(Adder adder, const Pool2dShape& shape, int8_t zero_in, float multiplier, const Target& to,
                    const int8_t* x, int8_t* y) {
  const VectorKernels* const kernels = vector_kernels(adder);
  if (kernels == nullptr) return average_pool2d(shape, zero_in, multiplier, to, x, y);
  const size_t row = shape.width * shape.channels;
  for_each_window(shape, x, y, [&](const int8_t* from, size_t rows, size_t columns, size_t counted, int8_t* out) {
    kernels->mean_pixels(shape.channels, rows, columns, row, zero_in, static_cast<float>(counted), multiplier, to, from,
                         out);
  });
}

void add(Adder adder, size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y) {
  const VectorKernels* const kernels = vector_kernels(adder);
  if (kernels == nullptr) return add(count, a, b, to, y);
  kernels->add(count, a, b, to, y);
}

}  // namespace coterie::kernels::int8
