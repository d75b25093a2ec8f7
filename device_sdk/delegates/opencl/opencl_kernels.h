// The kernels, as OpenCL C. Each computes element i of y, i being its work item. Sums are in the order of the weights,
// by fma. Tensors lie as the runtime's do.
#pragma once

namespace coterie {

inline constexpr int kOpenclSizes = 18;  // v[] of a launch

inline constexpr const char* kOpenclKernels = R"cl(
typedef struct { int v[18]; } Sizes;

kernel void conv2d(global const float* x, global const float* w, global const float* bias, global float* y, Sizes s) {
  const int height = s.v[0], width = s.v[1], channels = s.v[2], kernel_h = s.v[3], kernel_w = s.v[4];
  const int out_h = s.v[5], out_w = s.v[6], filters = s.v[7], groups = s.v[8], stride_h = s.v[9], stride_w = s.v[10];
  const int top = s.v[11], left = s.v[12], dilation_h = s.v[13], dilation_w = s.v[14];
  int i = get_global_id(0);
  const int f = i % filters;
  const int column = i / filters % out_w;
  const int row = i / filters / out_w % out_h;
  const int image = i / filters / out_w / out_h;
  const int depth = channels / groups;
  const int first = f / (filters / groups) * depth;
  float sum = 0;
  for (int a = 0; a < kernel_h; ++a) {
    const int h = row * stride_h - top + a * dilation_h;
    if (h < 0 || h >= height) continue;
    for (int b = 0; b < kernel_w; ++b) {
      const int v = column * stride_w - left + b * dilation_w;
      if (v < 0 || v >= width) continue;
      global const float* pixel = x + ((image * height + h) * width + v) * channels + first;
      global const float* tap = w + (a * kernel_w + b) * depth * filters + f;
      for (int c = 0; c < depth; ++c) sum = fma(pixel[c], tap[c * filters], sum);
    }
  }
  y[i] = s.v[15] ? sum + bias[f] : sum;
}

kernel void dense(global const float* x, global const float* w, global const float* bias, global float* y, Sizes s) {
  const int in = s.v[0], out = s.v[1];
  const int i = get_global_id(0);
  const int unit = i % out;
  global const float* row = x + i / out * in;
  float sum = 0;
  for (int k = 0; k < in; ++k) sum = fma(row[k], w[k * out + unit], sum);
  y[i] = s.v[15] ? sum + bias[unit] : sum;
}

kernel void relu(global const float* x, global const float* w, global const float* bias, global float* y, Sizes s) {
  const int i = get_global_id(0);
  y[i] = x[i] > 0 || isnan(x[i]) ? x[i] : 0;
}

kernel void add(global const float* x, global const float* w, global const float* bias, global float* y, Sizes s) {
  const int i = get_global_id(0);
  y[i] = x[i] + w[i];
}

kernel void pool(global const float* x, global const float* w, global const float* bias, global float* y, Sizes s) {
  const int height = s.v[0], width = s.v[1], channels = s.v[2], kernel_h = s.v[3], kernel_w = s.v[4];
  const int out_h = s.v[5], out_w = s.v[6], stride_h = s.v[9], stride_w = s.v[10], top = s.v[11], left = s.v[12];
  const int counts_padding = s.v[16], is_average = s.v[17];
  const int i = get_global_id(0);
  const int c = i % channels;
  const int column = i / channels % out_w;
  const int row = i / channels / out_w % out_h;
  const int image = i / channels / out_w / out_h;
  float sum = 0, largest = -INFINITY;
  int seen = 0;
  for (int a = 0; a < kernel_h; ++a) {
    for (int b = 0; b < kernel_w; ++b) {
      const int h = row * stride_h - top + a, v = column * stride_w - left + b;
      if (h < 0 || h >= height || v < 0 || v >= width) continue;
      const float value = x[((image * height + h) * width + v) * channels + c];
      sum += value;
      largest = value > largest || isnan(value) ? value : largest;
      ++seen;
    }
  }
  y[i] = is_average ? sum / (counts_padding ? kernel_h * kernel_w : seen) : largest;
}
)cl";

}  // namespace coterie
