// Dense layers and convolutions by vector instructions. The bits are those of kernels.h: a sum of integers is exact in
// any order, and what follows it is the same arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "train_kernels/int8/adder.h"
#include "train_kernels/int8/kernels.h"
#include "train_kernels/int8/line_vector.h"

namespace coterie::kernels::int8 {

struct VectorKernels;

// A convolution whose weights lie as its adder reads them; a dense layer is one of a single row of pixels. Not
// thread-safe: it has memory for an image.
class PreparedLayer {
 public:
  // Copies what `layer` points to. The CPU has the adder, and it is not the reference; can(shape).
  PreparedLayer(Adder adder, const Conv2dShape& shape, const Weighted& layer);

  // As conv2d of kernels.h.
  void run(const int8_t* x, int8_t* y);
  size_t bytes() const;  // that it holds

  // Whether its image is of a size to be held, with its padding, and so, depthwise, are the columns under a kernel.
  static bool can(const Conv2dShape& shape);
  static Conv2dShape as_convolution(const DenseShape& s) {
    return {
        .batch = 1, .height = 1, .width = s.batch, .channels = s.in, .kernel_h = 1, .kernel_w = 1, .filters = s.out};
  }

 private:
  static bool packs_columns(const Conv2dShape& s) { return s.is_depthwise() && s.dilation_w == 1 && s.dilation_h == 1; }
  PreparedLayer(const VectorKernels& kernels, const Conv2dShape& shape, const Weighted& layer, size_t neighbours);
  bool is_depthwise() const { return packs_columns(shape_); }
  void plan_segments();
  void pack_groups(const Weighted& layer);
  void pack_depthwise(const Weighted& layer);
  void fill_padding(size_t slack);
  void put(size_t at, int8_t weight);
  void move_image(const int8_t* x);
  void run_groups(const int8_t* x, int8_t* y);
  void run_depthwise(const int8_t* x, int8_t* y);
  void run_depthwise_rows(const int8_t* x, int8_t* y);

  const VectorKernels& kernels_;
  Conv2dShape shape_;  // with neighbours side by side (side_by_side.h)
  int8_t zero_in_;
  Target to_;
  int move_;      // what is added to an input to make it an element of image_
  size_t block_;  // outputs of a group, rounded up to whole vectors; depthwise: channels of a block
  std::vector<size_t> pixels_, segments_, lanes_;    // offsets of bytes: ConvolutionTask
  size_t segment_elements_ = 0, segment_bytes_ = 0;  // the second: rounded up to whole lanes
  LineVector<uint8_t> weights_;                      // of each group, or block of channels
  LineVector<int32_t> bias_;
  LineVector<float> multipliers_;
  std::vector<uint8_t> image_;     // padded; its padding is written once
  std::vector<uint32_t> columns_;  // depthwise: DepthwiseColumns, of a block of channels
};

}  // namespace coterie::kernels::int8
