// A TFLite file as a small table: what read_tflite hands over, with every index, shape and number already in range.
//
// The format and its operators are TensorFlow Lite's (tflite.fbs names the source). Images are NHWC, a convolution's
// weights OHWI, a depthwise one's 1HWC, a dense layer's [outputs, inputs].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

// The numbers are the format's.
enum class TfliteType : int8_t {
  float32 = 0,
  float16 = 1,
  int32 = 2,
  uint8 = 3,
  int64 = 4,
  boolean = 6,
  int16 = 7,
  int8 = 9,
};
size_t width_of(TfliteType type);  // bytes
bool is_real(TfliteType type);
const char* name_of(TfliteType type);

// real = scale * (integer - zero): one of both for all, or one a place on an axis.
struct TfliteGrid {
  std::vector<float> scales;  // finite and above 0
  std::vector<int64_t> zeros;
  uint32_t axis = 0;
  bool is_given() const { return !scales.empty(); }
};

struct TfliteTensor {
  std::string name;  // each once, none empty
  TfliteType type = TfliteType::float32;
  Shape shape;             // rank 0 to 8, each dimension at least 1
  std::vector<bool> open;  // dimensions that the file leaves open (shape_signature); their size is that of its example
  TfliteGrid grid;
  ByteView data;  // of a constant: all of its elements, little-endian, in the model's own bytes; else empty
  bool is_variable = false;

  bool is_constant() const { return !data.empty(); }
};

enum class TfliteOp : int32_t {
  add = 0,
  average_pool_2d = 1,
  concatenation = 2,
  conv_2d = 3,
  depthwise_conv_2d = 4,
  dequantize = 6,
  fully_connected = 9,
  logistic = 14,
  max_pool_2d = 17,
  mul = 18,
  relu = 19,
  relu_n1_to_1 = 20,
  relu6 = 21,
  reshape = 22,
  resize_bilinear = 23,
  softmax = 25,
  tanh = 28,
  pad = 34,
  transpose = 39,
  mean = 40,
  sub = 41,
  squeeze = 43,
  unidirectional_sequence_lstm = 44,
  strided_slice = 45,
  split = 49,
  cast = 53,
  transpose_conv = 67,
  resize_nearest_neighbor = 97,
  leaky_relu = 98,
  mirror_pad = 100,
  quantize = 114,
  hard_swish = 117,
  batch_matmul = 126,
};

enum class TfliteActivation : uint8_t { none, relu, relu_n1_to_1, relu6, tanh };

// What the options of all of these operators say, in one: an operator reads those that it has.
struct TfliteOptions {
  bool is_same = false;  // padding SAME, else VALID
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t filter_h = 1, filter_w = 1;
  TfliteActivation activation = TfliteActivation::none;
  bool keeps_dimensions = false;  // of MEAN and FULLY_CONNECTED
  float beta = 1, alpha = 0;      // of SOFTMAX; of LEAKY_RELU
  int64_t axis = 0;
  std::vector<int64_t> dimensions;  // new_shape, squeeze_dims
  int64_t parts = 0;
  uint32_t begin_mask = 0, end_mask = 0, shrink_mask = 0;
  bool end_is_offset = false;
  bool aligns_corners = false, has_half_pixels = false;
  bool is_symmetric = false;  // MIRROR_PAD
  bool adjoint_x = false, adjoint_y = false;
  bool is_time_major = false;
};

inline constexpr int32_t kNoOperand = -1;

struct TfliteOperator {
  TfliteOp op = TfliteOp::add;
  std::vector<int32_t> inputs, outputs;  // tensors, kNoOperand: absent
  TfliteOptions options;

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != kNoOperand; }
};

struct TfliteModel {
  std::string name;
  std::vector<TfliteTensor> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<TfliteOperator> operators;  // each after those whose outputs it reads
  std::vector<uint8_t> bytes;             // what the constants are views of; moving the model moves none of them

  TfliteModel() = default;
  TfliteModel(TfliteModel&&) = default;
  TfliteModel& operator=(TfliteModel&&) = default;
  TfliteModel(const TfliteModel&) = delete;
  TfliteModel& operator=(const TfliteModel&) = delete;

  const TfliteTensor& tensor(int32_t i) const { return tensors[static_cast<size_t>(i)]; }
};

// The format's name of an operator, "CONV_2D"; "operator 300" where it is none that is known here.
std::string operator_name(int32_t code);
bool is_read(int32_t code);  // whether TfliteOp has it
// "operator 3 (CONV_2D)", for messages.
std::string what_of(const TfliteModel& model, size_t at);

// The elements of a constant as numbers, exactly (float16 is widened).
std::vector<double> numbers_of(const TfliteTensor& tensor);
std::vector<int64_t> integers_of(const TfliteTensor& tensor);  // of a type that is not real

}  // namespace coterie::model_import
