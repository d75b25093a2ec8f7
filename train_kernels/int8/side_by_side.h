// A convolution of few outputs as one of more: neighbouring pixels of a row become one pixel, so that vectors are full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "train_kernels/int8/kernels.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels::int8 {

struct VectorKernels;

// How many neighbours to compute as one pixel: what takes the fewest products of lanes (kLaneBytes) by as many outputs
// as the kernels compute at least. It divides the width of the output; 1 where nothing is gained, and of convolutions
// in groups or dilated.
size_t neighbours_at_once(const Conv2dShape& shape, const VectorKernels& kernels);

// Output o of neighbour n is output n * filters + o of the wide pixel, so that y lies in memory as it did. The kernel
// is wider by the strides of the other neighbours: it covers the windows of all, and a weight is 0 where it is not of
// the window of its neighbour. The sums are the same. Precondition: `pixels` is of neighbours_at_once.
Conv2dShape side_by_side(const Conv2dShape& shape, size_t pixels);

struct SideBySide {
  std::vector<int8_t> weights;
  std::vector<int32_t> bias;
  std::vector<float> multipliers;
};
SideBySide side_by_side(const Conv2dShape& shape, const Weighted& layer, size_t pixels);

}  // namespace coterie::kernels::int8
