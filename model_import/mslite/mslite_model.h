// A MindSpore Lite file as a small table: what read_mslite hands over, with every index, shape and number already in
// range.
//
// The format and its operators are MindSpore Lite's (mslite.fbs names the source). Images are NHWC, a convolution's
// weights [outputs, height, width, inputs of a group], a transposed one's [inputs, height, width, outputs of a group],
// a dense layer's [outputs, inputs].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

// The numbers are the format's.
enum class MsliteType : int32_t {
  boolean = 30,
  int32 = 34,
  int64 = 35,
  float16 = 42,
  float32 = 43,
};
size_t width_of(MsliteType type);  // bytes
bool is_real(MsliteType type);

// How a tensor of rank 4 is laid out; any: in a way that is not read as an image or as weights.
enum class MsliteLayout : uint8_t { any, nchw, nhwc, khwc };

struct MsliteTensor {
  std::string name;  // each once, none empty
  MsliteType type = MsliteType::float32;
  Shape shape;            // rank 0 to 8, each dimension at least 1, or -1: not known
  bool has_shape = true;  // false: of a value of which the file says none
  MsliteLayout layout = MsliteLayout::any;
  ByteView data;  // of a constant: all of its elements, little-endian, in the model's own bytes; else empty

  bool is_constant() const { return !data.empty(); }
};

enum class MsliteOp : uint8_t {
  abs = 1,
  activation = 2,
  add = 5,
  add_n = 8,
  average_pool = 17,
  batch_norm = 19,
  bias_add = 23,
  clip = 30,
  concat = 31,
  convolution = 35,
  transposed_convolution = 36,
  div = 47,
  dropout = 49,
  elu = 51,
  exponential = 55,
  expand_dims = 56,
  flatten = 61,
  dense = 67,
  fused_batch_norm = 68,
  gather = 69,
  layer_norm = 75,
  leaky_relu = 76,
  log = 79,
  lstm = 87,
  matmul = 89,
  maximum = 90,
  max_pool = 92,
  minimum = 96,
  mul = 99,
  neg = 101,
  pad = 107,
  power = 110,
  prelu = 112,
  reciprocal = 116,
  real_div = 117,
  reduce = 118,
  reshape = 119,
  resize = 120,
  rsqrt = 126,
  scale = 127,
  slice = 135,
  softmax = 138,
  split = 145,
  sqrt = 146,
  squeeze = 147,
  square = 148,
  squared_difference = 149,
  stack = 150,
  strided_slice = 151,
  sub = 152,
  transpose = 162,
  unsqueeze = 165,
  gru = 172,
  erf = 178,
  log_softmax = 189,
};

// The numbers are the format's.
enum class MsliteActivation : uint8_t {
  none = 0,
  relu = 1,
  sigmoid = 2,
  relu6 = 3,
  elu = 4,
  leaky_relu = 5,
  softplus = 9,
  tanh = 10,
  hard_swish = 12,
  hard_sigmoid = 13,
  hard_tanh = 16,
  swish = 18,
  gelu = 19,
};
enum class MsliteReduction : uint8_t { mean, max, min, product, sum, sum_of_squares, sum_of_magnitudes, l2 = 8 };
enum class MslitePadding : uint8_t { constant, reflect, symmetric };
enum class MsliteCoordinates : uint8_t { asymmetric, align_corners, half_pixel };

// What the attributes of all of these operators say, in one: an operator reads those that it has.
struct MsliteAttributes {
  bool is_same = false;                // windows: padded so that only strides make them smaller
  int64_t pads[4] = {0, 0, 0, 0};      // of windows, else: top, bottom, left, right
  int64_t kernel_h = 0, kernel_w = 0;  // 0: as the weights have it
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t output_pad_h = 0, output_pad_w = 0;
  int64_t group = 0;                                     // 0: not said
  bool is_global = false, rounds_up = false;             // pools
  MsliteActivation activation = MsliteActivation::none;  // fused: none, relu or relu6
  float alpha = 0, least = 0, most = 0;
  bool is_approximate = false;  // gelu
  float epsilon = 0;
  int64_t axis = 0, parameters_axis = 0;
  bool uses_axis = false;      // dense: axis is said
  std::vector<int64_t> axes;   // softmax, squeeze, unsqueeze, slice
  std::vector<int64_t> sizes;  // split; empty: equal parts
  int64_t parts = 0;
  bool transposes_a = false, transposes_b = false;
  bool keeps_dimensions = false, goes_to_end = false;
  MsliteReduction reduction = MsliteReduction::mean;
  float factor = 0, base = -1, scale = 1, shift = 0;
  MslitePadding padding = MslitePadding::constant;
  float pad_value = 0;
  bool is_nearest = false;  // resize; else linear
  MsliteCoordinates coordinates = MsliteCoordinates::asymmetric;
  int64_t height = 0, width = 0;
  uint32_t begin_mask = 0, end_mask = 0, shrink_mask = 0;
  bool is_bidirectional = false;  // lstm, gru
};

struct MsliteOperator {
  MsliteOp op = MsliteOp::add;
  uint32_t place = 0;  // in the file, for messages
  std::vector<uint32_t> inputs, outputs;
  MsliteAttributes attributes;
};

struct MsliteModel {
  std::string name, version;  // of the converter: "MindSpore Lite 1.5.0"
  std::vector<MsliteTensor> tensors;
  std::vector<uint32_t> inputs, outputs;
  std::vector<MsliteOperator> operators;  // each after those whose outputs it reads
  std::vector<uint8_t> bytes;             // what the constants are views of; moving the model moves none of them

  MsliteModel() = default;
  MsliteModel(MsliteModel&&) = default;
  MsliteModel& operator=(MsliteModel&&) = default;
  MsliteModel(const MsliteModel&) = delete;
  MsliteModel& operator=(const MsliteModel&) = delete;
};

// The format's name of an operator, "Conv2DFusion"; "operator 250" where it is none that is known here.
std::string mslite_operator_name(uint8_t code);
bool is_read_mslite(uint8_t code);    // whether MsliteOp has it
bool is_training_only(uint8_t code);  // gradients and optimisers
// "node 3 (Conv2DFusion)", for messages.
std::string what_of(const MsliteOperator& op);

// The elements of a constant as numbers, exactly (float16 is widened).
std::vector<float> reals_of(const MsliteTensor& tensor);       // of a type that is real
std::vector<int64_t> integers_of(const MsliteTensor& tensor);  // of one that is not

}  // namespace coterie::model_import
