// How the channels of a depthwise convolution lie in vectors of four times sixteen (DepthwiseRowsTask).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "train_kernels/int8/kernels.h"
#include "train_kernels/int8/line_vector.h"
#include "train_kernels/int8/vector_kernels.h"

namespace coterie::kernels::int8 {

// Up to sixteen channels: four pixels at once; up to 32: two; else, and in narrow images, 64 channels of one.
size_t depthwise_blocks(const Conv2dShape& shape);
// The places of a block, without pointers.
DepthwiseRowsTask depthwise_block(const Conv2dShape& shape, size_t block);
// What may be read behind the image, in bytes.
size_t depthwise_slack(const Conv2dShape& shape);

// All blocks, as the kernel reads them. `taken`: what a weight takes from its output's bias.
struct DepthwiseRows {
  LineVector<uint8_t> weights;
  LineVector<int32_t> bias;
  LineVector<float> multipliers;
};
DepthwiseRows pack_depthwise_rows(const Conv2dShape& shape, const Weighted& layer, int taken);

}  // namespace coterie::kernels::int8
