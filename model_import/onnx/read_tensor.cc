#include "model_import/onnx/read_proto.h"

#include <algorithm>
#include <cstring>

#include "model_import/graph/small_floats.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

using ::onnx::TensorProto;

template <typename T, typename Convert>
bool from_raw(const std::string& raw, uint64_t count, Convert&& convert) {
  if (raw.size() % sizeof(T) != 0 || raw.size() / sizeof(T) != count) return false;
  for (uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    convert(value);
  }
  return true;
}

template <typename Field, typename Convert>
bool from_field(const Field& field, uint64_t count, Convert&& convert) {
  if (static_cast<uint64_t>(field.size()) != count) return false;
  for (const auto value : field) convert(value);
  return true;
}

bool read_reals(const TensorProto& proto, uint64_t count, HostTensor& tensor) {
  const auto add = [&](auto value) { tensor.reals.push_back(static_cast<float>(value)); };
  const auto add_half = [&](auto value) { tensor.reals.push_back(half_to_float(static_cast<uint16_t>(value))); };
  const auto add_bfloat = [&](auto value) { tensor.reals.push_back(bfloat_to_float(static_cast<uint16_t>(value))); };
  const bool is_raw = proto.has_raw_data();
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      if (!is_raw) return from_field(proto.float_data(), count, add);
      if (raw.size() % sizeof(float) != 0 || raw.size() / sizeof(float) != count) return false;
      tensor.reals.resize(count);
      if (count != 0) std::memcpy(tensor.reals.data(), raw.data(), raw.size());
      return true;
    case TensorProto::DOUBLE:
      return is_raw ? from_raw<double>(raw, count, add) : from_field(proto.double_data(), count, add);
    case TensorProto::FLOAT16:
      return is_raw ? from_raw<uint16_t>(raw, count, add_half) : from_field(proto.int32_data(), count, add_half);
    default:
      return is_raw ? from_raw<uint16_t>(raw, count, add_bfloat) : from_field(proto.int32_data(), count, add_bfloat);
  }
}

bool read_integers(const TensorProto& proto, uint64_t count, HostTensor& tensor) {
  const auto add = [&](auto value) { tensor.integers.push_back({static_cast<int64_t>(value), false}); };
  const auto add_bool = [&](auto value) { tensor.integers.push_back({value != 0, false}); };
  const bool is_raw = proto.has_raw_data();
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case TensorProto::INT64:
      return is_raw ? from_raw<int64_t>(raw, count, add) : from_field(proto.int64_data(), count, add);
    case TensorProto::INT32:
      return is_raw ? from_raw<int32_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::INT16:
      return is_raw ? from_raw<int16_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::INT8:
      return is_raw ? from_raw<int8_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT8:
      return is_raw ? from_raw<uint8_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT16:
      return is_raw ? from_raw<uint16_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT32:
      return is_raw ? from_raw<uint32_t>(raw, count, add) : from_field(proto.uint64_data(), count, add);
    case TensorProto::UINT64:
      return (is_raw ? from_raw<uint64_t>(raw, count, add) : from_field(proto.uint64_data(), count, add)) &&
             std::ranges::none_of(tensor.integers, [](const Integer& integer) { return integer.value < 0; });
    default: return is_raw ? from_raw<uint8_t>(raw, count, add_bool) : from_field(proto.int32_data(), count, add_bool);
  }
}

Width width_of(int type) {
  switch (type) {
    case TensorProto::INT8: return Width::int8;
    case TensorProto::UINT8: return Width::uint8;
    case TensorProto::INT32: return Width::int32;
    case TensorProto::FLOAT16: return Width::float16;
    case TensorProto::BFLOAT16: return Width::bfloat16;
    case TensorProto::FLOAT: return Width::float32;
    case TensorProto::DOUBLE: return Width::float64;
    default: return Width::any;
  }
}

}  // namespace

Result<uint64_t> count_of(const TensorProto& proto, Shape& shape) {
  uint64_t count = 1;
  if (proto.dims_size() > static_cast<int>(limits::kModelRankMax))
    return Error(ErrorCode::too_large, "has more than 8 dimensions");
  for (const int64_t dimension : proto.dims()) {
    if (dimension < 0) return Error(ErrorCode::malformed, "has a negative dimension");
    shape.push_back(dimension);
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count)) {
      return Error(ErrorCode::malformed, "has a shape whose number of elements overflows");
    }
  }
  return count;
}

std::optional<Element> element_of(int type) {
  switch (type) {
    case TensorProto::FLOAT:
    case TensorProto::DOUBLE:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16: return Element::real;
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::INT16:
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::UINT16:
    case TensorProto::UINT32:
    case TensorProto::UINT64: return Element::integer;
    case TensorProto::BOOL: return Element::boolean;
    default: return std::nullopt;
  }
}

Result<HostTensor> read_tensor(const TensorProto& proto) {
  if (proto.data_location() == TensorProto::EXTERNAL || proto.external_data_size() != 0) {
    return Error(ErrorCode::invalid_argument,
                 "keeps its data in another file: save the model with its weights inside "
                 "(onnx.save_model(..., save_as_external_data=False))");
  }
  const std::optional<Element> element = element_of(proto.data_type());
  if (!element) {
    return Error(ErrorCode::invalid_argument,
                 "is of type " + std::to_string(proto.data_type()) +
                     " (TensorProto.DataType): only floats, integers and booleans are read");
  }
  HostTensor tensor;
  tensor.element = *element;
  tensor.width = width_of(proto.data_type());
  COT_ASSIGN(const uint64_t count, count_of(proto, tensor.shape));
  const bool read = *element == Element::real ? read_reals(proto, count, tensor) : read_integers(proto, count, tensor);
  if (!read)
    return Error(ErrorCode::malformed, "does not hold the " + std::to_string(count) + " elements of its shape");
  return tensor;
}

}  // namespace coterie::model_import
