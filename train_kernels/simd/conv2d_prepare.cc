// A convolution's weights, packed, turned or transformed. Contracts: tables/conv2d.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/conv2d_prepare.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/simd/conv2d_prepare_inl.h"
#include "train_kernels/simd/dense_inl.h"
#include "train_kernels/simd/winograd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// w: [kernel_h, kernel_w, channels / groups, filters] -> each group's [taps, filters] in panels (pack_b_rows).
template <class Products>
void conv2d_prepare_forward(const Conv2dShape& s, Range channels, const float* w, float* prepared) {
  if (s.is_pointwise()) return dense_prepare_forward<Products>(s.as_dense(), channels, w, prepared);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); kHasWinograd && outputs != 0) {
    return winograd_prepare(s, channels, outputs, false, w, prepared);
  }
  const size_t depth = s.channels / s.groups, filters = s.filters / s.groups, taps = s.taps();
  if (conv2d_forward_prepared_bytes(s) == 0 || filters <= panel_of(filters)) return;  // read as they lie
  const Products products(filters);
  for (size_t tap = 0; tap < taps; tap += depth) {
    for (size_t g = 0; g < s.groups; ++g) {
      products.pack_rows(taps, filters, {tap + channels.begin, tap + channels.end},
                         w + (tap + channels.begin) * s.filters + g * filters, s.filters,
                         prepared + g * packed_b_floats(taps, filters));
    }
  }
}

// One group of w, turned half round, as [kernel_h, kernel_w, filters / groups, channels] in panels.
template <class Products>
void pack_turned(const Conv2dShape& s, size_t group, Range filters, Range channels, const float* w, float* to) {
  const size_t depth = s.channels / s.groups, deep = s.filters / s.groups, taps = s.kernel_h * s.kernel_w;
  const Products products(depth);
  for (size_t t = 0; t < taps; ++t) {
    const size_t row = (taps - 1 - t) * deep;
    products.pack_transposed_rows(taps * deep, channels.size(), {row + filters.begin, row + filters.end},
                                  w + (t * depth + channels.begin) * s.filters + group * deep + filters.begin,
                                  s.filters, to);
  }
}

// w: [kernel_h, kernel_w, channels / groups, filters] -> what the gradient's product reads: w turned where that product
// is a convolution, else w^T.
template <class Products>
void conv2d_prepare_backward_input(const Conv2dShape& s, Range filters, const float* w, float* prepared) {
  if (conv2d_backward_input_prepared_bytes(s) == 0) return;
  if (s.is_pointwise()) return dense_prepare_backward_input<Products>(s.as_dense(), filters, w, prepared);
  const size_t deep = s.filters / s.groups, depth = s.channels / s.groups, taps = s.taps();
  const bool is_convolution = gradient_is_convolution(s);
  const Conv2dShape turned = is_convolution ? convolution_of_gradient(s) : s;
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(turned));
      kHasWinograd && is_convolution && outputs != 0) {
    return winograd_prepare(turned, filters, outputs, true, w, prepared);
  }
  for (size_t g = 0; g < s.groups; ++g) {
    if (is_convolution) {
      pack_turned<Products>(s, g, filters, {0, depth}, w, prepared + g * packed_b_floats(turned.taps(), depth));
    } else {  // w^T: each group's [filters, taps]
      transpose(taps, filters.size(), w + g * deep + filters.begin, s.filters,
                prepared + (g * deep + filters.begin) * taps, taps);
    }
  }
}

template void conv2d_prepare_forward<Float32Products>(const Conv2dShape&, Range, const float*, float*);
template void conv2d_prepare_backward_input<Float32Products>(const Conv2dShape&, Range, const float*, float*);
template void pack_turned<Float32Products>(const Conv2dShape&, size_t, Range, Range, const float*, float*);
#if COT_TARGET_HAS_BFLOAT16
template void conv2d_prepare_forward<Bfloat16Products>(const Conv2dShape&, Range, const float*, float*);
template void conv2d_prepare_backward_input<Bfloat16Products>(const Conv2dShape&, Range, const float*, float*);
template void pack_turned<Bfloat16Products>(const Conv2dShape&, size_t, Range, Range, const float*, float*);
#endif

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
