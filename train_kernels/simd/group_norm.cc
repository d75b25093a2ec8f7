// Group normalisation. Contracts: tables/group_norm.h.
//
// One example is a matrix[positions, channels] like a batch of batch normalisation. Groups are taken together
// until they fill a strip of columns, a group wider than a strip alone and strip by strip; the constants of a
// strip are spread from groups to columns, and normalise_inl.h does the rest.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/group_norm.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/simd/normalise_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/group_norm.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

constexpr size_t kStrip = 64;  // columns

// body(first channel, channels) for each strip of [begin, end).
template <class Body>
HWY_INLINE void for_each_strip(size_t begin, size_t end, const Body& body) {
  for (size_t c = begin; c < end; c += kStrip) body(c, HWY_MIN(kStrip, end - c));
}

// body(first group, end) for the groups that are taken together: at most kStrip.
template <class Body>
HWY_INLINE void for_each_groups(const GroupNormShape& s, const Body& body) {
  const size_t together = HWY_MAX(size_t{1}, kStrip / s.group_channels());
  for (size_t g = 0; g < s.groups; g += together) body(g, HWY_MIN(s.groups, g + together));
}

// What a strip from channel c is normalised with, by column.
struct StripConstants {
  float mean[kStrip], inverse_stddev[kStrip];

  HWY_INLINE StripConstants(const GroupNormShape& s, size_t c, size_t count, const float* means,
                            const float* inverses) {
    for (size_t i = 0; i < count; ++i) {
      mean[i] = means[(c + i) / s.group_channels()];
      inverse_stddev[i] = inverses[(c + i) / s.group_channels()];
    }
  }
  HWY_INLINE Channels channels(const float* scale, const float* bias) const {
    return {mean, inverse_stddev, scale, bias};
  }
};

struct KeepMoments {
  float *means, *squares;
  template <class Lanes>
  HWY_INLINE void operator()(const Lanes& lanes, size_t column, Vector mean, Vector sum) const {
    lanes.store(mean, means + column);
    lanes.store(sum, squares + column);
  }
};

// The moments of a group from those of its channels, each over `count` values.
struct GroupMoments {
  double mean = 0, squares = 0, channels = 0;

  void merge(double channel_mean, double channel_squares, double count) {
    // Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983, for parts of equal size: no
    // difference of large sums, as sum(x^2) - n mean^2 would be.
    const double delta = channel_mean - mean;
    mean += delta / (channels + 1);
    squares += channel_squares + delta * delta * count * channels / (channels + 1);
    channels += 1;
  }
};

// mean and inverse_stddev are the example's.
struct GroupStatistics {
  const GroupNormShape& s;
  const float* x;
  float epsilon;
  float *mean, *inverse_stddev;

  void operator()(size_t first, size_t end) const {
    GroupMoments groups[kStrip];
    for_each_strip(first * s.group_channels(), end * s.group_channels(), AddStrip{*this, first, groups});
    const double count = static_cast<double>(s.positions * s.group_channels());
    for (size_t g = first; g < end; ++g) {
      mean[g] = static_cast<float>(groups[g - first].mean);
      const double variance = groups[g - first].squares / count;
      inverse_stddev[g] = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon)));
    }
  }
  struct AddStrip {
    const GroupStatistics& all;
    size_t first;
    GroupMoments* groups;
    void operator()(size_t c, size_t count) const {
      float means[kStrip], squares[kStrip];
      column_moments(all.x + c, all.s.positions, count, all.s.channels, KeepMoments{means, squares});
      for (size_t i = 0; i < count; ++i) {
        groups[(c + i) / all.s.group_channels() - first].merge(
            static_cast<double>(means[i]), static_cast<double>(squares[i]), static_cast<double>(all.s.positions));
      }
    }
  };
};

struct NormaliseStrip {
  const GroupNormShape& s;
  const float *x, *scale, *bias, *mean, *inverse_stddev;
  float* y;

  void operator()(size_t c, size_t count) const {
    const StripConstants constants(s, c, count, mean, inverse_stddev);
    const Channels channels = constants.channels(scale + c, bias + c);
    map_columns(s.positions, count, Normalise<false>{channels, splat(0), s.channels, x + c, y + c});
  }
};

// x, y: [batch, positions, channels]; scale, bias: [channels]; mean, inverse_stddev: [batch, groups]. Statistics and
// normalising go example by example: the second pass finds the example in the cache.
void group_norm_forward(const GroupNormShape& s, const float* x, const float* scale, const float* bias, float epsilon,
                        float* y, float* mean, float* inverse_stddev) {
  for (size_t b = 0; b < s.batch; ++b) {
    for_each_groups(s, GroupStatistics{s, x, epsilon, mean, inverse_stddev});
    for_each_strip(0, s.channels, NormaliseStrip{s, x, scale, bias, mean, inverse_stddev, y});
    x += s.positions * s.channels;
    y += s.positions * s.channels;
    mean += s.groups;
    inverse_stddev += s.groups;
  }
}

// products[i] and sums[i]: the sums of dy x' and of dy in column c + i of an example.
HWY_INLINE void strip_parameter_gradients(const GroupNormShape& s, const StripConstants& constants, size_t count,
                                          const float* x, const float* dy, float* products, float* sums) {
  const Channels channels = constants.channels(nullptr, nullptr);
  float* const both[] = {products, sums};
  column_sums(s.positions, count, ParameterGradients<false>{channels, splat(0), s.channels, x, dy}, both);
}

struct GroupBackward {
  const GroupNormShape& s;
  const float *x, *scale, *mean, *inverse_stddev, *dy;
  float* dx;

  void operator()(size_t first, size_t end) const {
    double products[kStrip] = {}, sums[kStrip] = {};
    const size_t begin = first * s.group_channels(), channels_end = end * s.group_channels();
    for_each_strip(begin, channels_end, AddStrip{*this, first, products, sums});
    // A second pass: the sums of a group must be whole before any of its dx.
    for_each_strip(begin, channels_end, SpreadStrip{*this, first, products, sums});
  }
  struct AddStrip {
    const GroupBackward& all;
    size_t first;
    double *products, *sums;
    void operator()(size_t c, size_t count) const {
      float strip_products[kStrip], strip_sums[kStrip];
      const StripConstants constants(all.s, c, count, all.mean, all.inverse_stddev);
      strip_parameter_gradients(all.s, constants, count, all.x + c, all.dy + c, strip_products, strip_sums);
      for (size_t i = 0; i < count; ++i) {
        const size_t g = (c + i) / all.s.group_channels() - first;
        products[g] += static_cast<double>(all.scale[c + i]) * static_cast<double>(strip_products[i]);
        sums[g] += static_cast<double>(all.scale[c + i]) * static_cast<double>(strip_sums[i]);
      }
    }
  };
  struct SpreadStrip {
    const GroupBackward& all;
    size_t first;
    const double *products, *sums;
    void operator()(size_t c, size_t count) const {
      float product[kStrip], sum[kStrip];
      for (size_t i = 0; i < count; ++i) {
        product[i] = static_cast<float>(products[(c + i) / all.s.group_channels() - first]);
        sum[i] = static_cast<float>(sums[(c + i) / all.s.group_channels() - first]);
      }
      const StripConstants constants(all.s, c, count, all.mean, all.inverse_stddev);
      const Channels channels = constants.channels(all.scale + c, all.scale + c);  // the bias is not used
      const float values = static_cast<float>(all.s.positions * all.s.group_channels());
      map_columns(all.s.positions, count,
                  InputGradient<false>{channels, splat(0), all.s.channels, all.x + c, product, sum, false, values,
                                       all.dy + c, all.dx + c});
    }
  };
};

// x, dy, dx: [batch, positions, channels]; scale: [channels]; mean, inverse_stddev: [batch, groups]
void group_norm_backward_input(const GroupNormShape& s, const float* x, const float* scale, const float* mean,
                               const float* inverse_stddev, const float* dy, float* dx) {
  for (size_t b = 0; b < s.batch; ++b) {
    const size_t at = b * s.positions * s.channels;
    for_each_groups(
        s, GroupBackward{s, x + at, scale, mean + b * s.groups, inverse_stddev + b * s.groups, dy + at, dx + at});
  }
}

struct ParameterStrip {
  const GroupNormShape& s;
  const float *x, *mean, *inverse_stddev, *dy;
  float *dscale, *dbias;

  void operator()(size_t c, size_t count) const {
    double all_products[kStrip] = {}, all_sums[kStrip] = {};
    for (size_t b = 0; b < s.batch; ++b) {
      const size_t at = b * s.positions * s.channels + c;
      float products[kStrip], sums[kStrip];
      const StripConstants constants(s, c, count, mean + b * s.groups, inverse_stddev + b * s.groups);
      strip_parameter_gradients(s, constants, count, x + at, dy + at, products, sums);
      for (size_t i = 0; i < count; ++i) {
        all_products[i] += static_cast<double>(products[i]);
        all_sums[i] += static_cast<double>(sums[i]);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      dscale[c + i] = static_cast<float>(all_products[i]);
      dbias[c + i] = static_cast<float>(all_sums[i]);
    }
  }
};

// x, dy: [batch, positions, channels]; mean, inverse_stddev: [batch, groups]; dscale, dbias: [channels], of which
// [begin, end) are written
void group_norm_backward_parameters(const GroupNormShape& s, size_t begin, size_t end, const float* x,
                                    const float* mean, const float* inverse_stddev, const float* dy, float* dscale,
                                    float* dbias) {
  for_each_strip(begin, end, ParameterStrip{s, x, mean, inverse_stddev, dy, dscale, dbias});
}

}  // namespace

void fill_group_norm_target(GroupNormKernels<float>& table) {
  COT_SET(group_norm_forward, group_norm_forward);
  COT_SET(group_norm_backward_input, group_norm_backward_input);
  COT_SET(group_norm_backward_parameters, group_norm_backward_parameters);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(group_norm, GroupNormKernels)
}  // namespace coterie::kernels::simd
#endif
