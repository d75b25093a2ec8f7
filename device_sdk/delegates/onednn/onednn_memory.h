// Our tensors as oneDNN describes memory.
#pragma once

#include <dnnl.hpp>

#include <unordered_map>

#include "device_sdk/runtime/op_rule.h"

extern "C" void omp_set_num_threads(int threads);  // of the OpenMP that oneDNN runs on

namespace coterie {

inline constexpr auto kFloat = dnnl::memory::data_type::f32;

struct OnednnStep {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> args;
};

// Dimensions in oneDNN's order: channels second.
inline dnnl::memory::dims dims_of(const Shape& shape) {
  if (shape.size() == 4) return {shape[0], shape[3], shape[1], shape[2]};
  return {shape.begin(), shape.end()};
}

// As our tensors lie: row-major, channels last.
inline dnnl::memory::desc plain(const Shape& shape) {
  dnnl::memory::dims strides(shape.size());
  dnnl::memory::dim step = 1;
  for (size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  if (shape.size() == 4) strides = {strides[0], strides[3], strides[1], strides[2]};
  return {dims_of(shape), kFloat, strides};
}

inline dnnl::memory::desc any_layout(const Shape& shape) {
  return {dims_of(shape), kFloat, dnnl::memory::format_tag::any};
}

// How a weight lies with us; without the strides it lies as oneDNN likes it.
struct WeightLayout {
  dnnl::memory::dims dims, strides;

  dnnl::memory::desc own() const { return {dims, kFloat, strides}; }
  dnnl::memory::desc any() const { return {dims, kFloat, dnnl::memory::format_tag::any}; }
};

// A conv2d's weight is kh, kw, c / groups, filters.
inline WeightLayout kernel_layout(const Shape& w, dnnl::memory::dim groups) {
  const dnnl::memory::dim row = w[2] * w[3];
  WeightLayout layout{{w[3] / groups, w[2], w[0], w[1]}, {1, w[3], w[1] * row, row}};
  if (groups > 1) {
    layout.dims.insert(layout.dims.begin(), groups);
    layout.strides.insert(layout.strides.begin(), w[3] / groups);
  }
  return layout;
}

// A dense layer's weight is in, out.
inline WeightLayout matrix_layout(const Shape& w) { return {{w[1], w[0]}, {1, w[1]}}; }

}  // namespace coterie
