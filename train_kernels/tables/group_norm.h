// Group normalisation (Wu and He, 2018) of x[batch, positions, channels]: each example's positions and each
// group of channels have a mean and a variance of their own. Instance normalisation is groups == channels.
// The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>

namespace coterie::kernels {

// Any part of the batch is a shape, too.
struct GroupNormShape {
  size_t batch, positions, channels, groups;

  size_t group_channels() const { return channels / groups; }
};

template <typename T>
struct GroupNormKernels {
  // x' = (x - mean) inverse_stddev, y = scale x' + bias; the variance has the divisor positions *
  // group_channels(). mean[batch, groups] and inverse_stddev[batch, groups] are outputs for the backward
  // pass. y may be x.
  void (*group_norm_forward)(const GroupNormShape&, const T* x, const T* scale, const T* bias, T epsilon, T* y, T* mean,
                             T* inverse_stddev);
  // dx = inverse_stddev (g - mean of g - x' mean of g x') with g = scale dy, means over the group. dx may be
  // dy.
  void (*group_norm_backward_input)(const GroupNormShape&, const T* x, const T* scale, const T* mean,
                                    const T* inverse_stddev, const T* dy, T* dx);
  // dscale[c] = the sum of dy x', dbias[c] = that of dy, for the channels in [begin, end): dscale and dbias
  // point to channel 0, the others are left alone.
  void (*group_norm_backward_parameters)(const GroupNormShape&, size_t begin, size_t end, const T* x, const T* mean,
                                         const T* inverse_stddev, const T* dy, T* dscale, T* dbias);
};

}  // namespace coterie::kernels
