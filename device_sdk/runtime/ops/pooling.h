// What the rules of pooling share: x[b, h, w, c], windows over h and w.
#pragma once

#include "device_sdk/runtime/op_build.h"
#include "train_kernels/shapes.h"

namespace coterie::ops {

// One input of four dimensions.
Status check_pooled_image(std::span<const Operand> inputs);

// infer and flops of an OpRule with Pool2dAttributes.
Result<std::vector<TensorType>> infer_pool_window(const OpInfo& op, std::span<const Operand> inputs);
double pool_window_flops(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs);

// How `op` reads images x[b, h, w, c]. Without Pool2dAttributes it is a global pool: one window over the whole image.
kernels::Pool2dShape pool_shape(const Shape& images, const OpInfo& op);

struct PoolSettings {
  kernels::Pool2dShape shape;
  bool through_relu;

  size_t x_image() const { return shape.height * shape.width * shape.channels; }
  size_t y_image() const { return shape.out_h() * shape.out_w() * shape.channels; }
  kernels::Pool2dShape of(const kernels::Range& images) const {
    kernels::Pool2dShape part = shape;
    part.batch = images.size();
    return part;
  }
};

PoolSettings pool_settings(const OpBuild& build);

// The window.
void describe_pool(const PoolSettings& settings, SettingsText& text);

// A pool is cut between images.
Split split_of_images(const OpBuild& build);

}  // namespace coterie::ops
