// Group normalisation by the definition. Contracts: tables/group_norm.h.
#pragma once

#include <cmath>

#include "train_kernels/tables/group_norm.h"

namespace coterie::kernels::reference {

// visit(index in x, channel) for each value of group g of example b.
template <class Visit>
void for_each_in_group(const GroupNormShape& s, size_t b, size_t g, const Visit& visit) {
  for (size_t p = 0; p < s.positions; ++p) {
    for (size_t c = g * s.group_channels(); c < (g + 1) * s.group_channels(); ++c) {
      visit((b * s.positions + p) * s.channels + c, c);
    }
  }
}

template <typename T>
void group_norm_forward(const GroupNormShape& s, const T* x, const T* scale, const T* bias, T epsilon, T* y, T* mean,
                        T* inverse_stddev) {
  const T count = T(s.positions * s.group_channels());
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t g = 0; g < s.groups; ++g) {
      T sum = 0, squares = 0;
      for_each_in_group(s, b, g, [&](size_t i, size_t) { sum += x[i]; });
      const T center = sum / count;
      for_each_in_group(s, b, g, [&](size_t i, size_t) { squares += (x[i] - center) * (x[i] - center); });
      const T inverse = 1 / std::sqrt(squares / count + epsilon);
      for_each_in_group(s, b, g, [&](size_t i, size_t c) { y[i] = scale[c] * (x[i] - center) * inverse + bias[c]; });
      mean[b * s.groups + g] = center;
      inverse_stddev[b * s.groups + g] = inverse;
    }
  }
}

template <typename T>
void group_norm_backward_input(const GroupNormShape& s, const T* x, const T* scale, const T* mean,
                               const T* inverse_stddev, const T* dy, T* dx) {
  const T count = T(s.positions * s.group_channels());
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t g = 0; g < s.groups; ++g) {
      const T center = mean[b * s.groups + g], inverse = inverse_stddev[b * s.groups + g];
      T sum = 0, product = 0;
      for_each_in_group(s, b, g, [&](size_t i, size_t c) {
        sum += scale[c] * dy[i];
        product += scale[c] * dy[i] * (x[i] - center) * inverse;
      });
      for_each_in_group(s, b, g, [&](size_t i, size_t c) {
        dx[i] = inverse * (scale[c] * dy[i] - sum / count - (x[i] - center) * inverse * product / count);
      });
    }
  }
}

template <typename T>
void group_norm_backward_parameters(const GroupNormShape& s, size_t begin, size_t end, const T* x, const T* mean,
                                    const T* inverse_stddev, const T* dy, T* dscale, T* dbias) {
  for (size_t c = begin; c < end; ++c) dscale[c] = dbias[c] = 0;
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t g = 0; g < s.groups; ++g) {
      for_each_in_group(s, b, g, [&](size_t i, size_t c) {
        if (c < begin || c >= end) return;
        dscale[c] += dy[i] * (x[i] - mean[b * s.groups + g]) * inverse_stddev[b * s.groups + g];
        dbias[c] += dy[i];
      });
    }
  }
}

template <typename T>
void fill_group_norm(GroupNormKernels<T>& table) {
  table.group_norm_forward = group_norm_forward<T>;
  table.group_norm_backward_input = group_norm_backward_input<T>;
  table.group_norm_backward_parameters = group_norm_backward_parameters<T>;
}

}  // namespace coterie::kernels::reference
