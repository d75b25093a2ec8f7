#include "model_import/tflite/tflite_model.h"

#include <array>
#include <cstring>

#include "model_import/graph/small_floats.h"

namespace coterie::model_import {
namespace {

// clang-format off
constexpr std::array kNames = {
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE",
    "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU", "RELU_N1_TO_1",
    "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH", "CONCAT_EMBEDDINGS",
    "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD", "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER",
    "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB", "DIV", "SQUEEZE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2", "SPLIT",
    "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX", "MINIMUM", "LESS",
    "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT", "SLICE", "SIN", "TRANSPOSE_CONV",
    "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL", "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT", "SHAPE", "POW",
    "ARG_MIN", "FAKE_QUANT", "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT", "LOGICAL_AND",
    "LOGICAL_NOT", "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL", "FLOOR_MOD",
    "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS", "SPLIT_V", "UNIQUE",
    "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU", "REVERSE_SEQUENCE", "MATRIX_DIAG",
    "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE", "NON_MAX_SUPPRESSION_V4",
    "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM", "BATCH_MATMUL", "operator 127",
    "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D", "CONV_3D", "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE",
    "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL", "CONV_3D_TRANSPOSE", "VAR_HANDLE",
    "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL", "BUCKETIZE", "RANDOM_UNIFORM",
    "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX",
    "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN", "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT",
};
// clang-format on
static_assert(kNames.size() == 162);

template <typename T>
T element(ByteView data, size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

size_t width_of(TfliteType type) {
  switch (type) {
    case TfliteType::int64: return 8;
    case TfliteType::float32:
    case TfliteType::int32: return 4;
    case TfliteType::float16:
    case TfliteType::int16: return 2;
    default: return 1;
  }
}

bool is_real(TfliteType type) { return type == TfliteType::float32 || type == TfliteType::float16; }

const char* name_of(TfliteType type) {
  switch (type) {
    case TfliteType::float32: return "float32";
    case TfliteType::float16: return "float16";
    case TfliteType::int32: return "int32";
    case TfliteType::uint8: return "uint8";
    case TfliteType::int64: return "int64";
    case TfliteType::boolean: return "bool";
    case TfliteType::int16: return "int16";
    default: return "int8";
  }
}

std::string operator_name(int32_t code) {
  if (code >= 0 && static_cast<size_t>(code) < kNames.size()) return kNames[static_cast<size_t>(code)];
  return "operator " + std::to_string(code);
}

bool is_read(int32_t code) {
  switch (static_cast<TfliteOp>(code)) {
    case TfliteOp::add:
    case TfliteOp::average_pool_2d:
    case TfliteOp::concatenation:
    case TfliteOp::conv_2d:
    case TfliteOp::depthwise_conv_2d:
    case TfliteOp::dequantize:
    case TfliteOp::fully_connected:
    case TfliteOp::logistic:
    case TfliteOp::max_pool_2d:
    case TfliteOp::mul:
    case TfliteOp::relu:
    case TfliteOp::relu_n1_to_1:
    case TfliteOp::relu6:
    case TfliteOp::reshape:
    case TfliteOp::resize_bilinear:
    case TfliteOp::softmax:
    case TfliteOp::tanh:
    case TfliteOp::pad:
    case TfliteOp::transpose:
    case TfliteOp::mean:
    case TfliteOp::sub:
    case TfliteOp::squeeze:
    case TfliteOp::unidirectional_sequence_lstm:
    case TfliteOp::strided_slice:
    case TfliteOp::split:
    case TfliteOp::cast:
    case TfliteOp::transpose_conv:
    case TfliteOp::resize_nearest_neighbor:
    case TfliteOp::leaky_relu:
    case TfliteOp::mirror_pad:
    case TfliteOp::quantize:
    case TfliteOp::hard_swish:
    case TfliteOp::batch_matmul: return true;
  }
  return false;
}

std::string what_of(const TfliteModel& model, size_t at) {
  return "operator " + std::to_string(at) + " (" + operator_name(static_cast<int32_t>(model.operators[at].op)) + ")";
}

std::vector<int64_t> integers_of(const TfliteTensor& tensor) {
  std::vector<int64_t> values(tensor.data.size() / width_of(tensor.type));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (tensor.type) {
      case TfliteType::int64: values[i] = element<int64_t>(tensor.data, i); break;
      case TfliteType::int32: values[i] = element<int32_t>(tensor.data, i); break;
      case TfliteType::int16: values[i] = element<int16_t>(tensor.data, i); break;
      case TfliteType::int8: values[i] = element<int8_t>(tensor.data, i); break;
      case TfliteType::boolean: values[i] = tensor.data[i] != 0; break;
      default: values[i] = tensor.data[i];
    }
  }
  return values;
}

std::vector<double> numbers_of(const TfliteTensor& tensor) {
  if (!is_real(tensor.type)) {
    const std::vector<int64_t> whole = integers_of(tensor);
    return {whole.begin(), whole.end()};
  }
  std::vector<double> values(tensor.data.size() / width_of(tensor.type));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<double>(tensor.type == TfliteType::float32 ? element<float>(tensor.data, i)
                                                               : half_to_float(element<uint16_t>(tensor.data, i)));
  }
  return values;
}

}  // namespace coterie::model_import
