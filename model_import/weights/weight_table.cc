#include "model_import/weights/weight_table.h"

#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "base/checked.h"
#include "model_import/graph/small_floats.h"

namespace coterie::model_import {
namespace {

struct TypeRow {
  std::string_view name;
  size_t bytes;
  bool is_real;
};
constexpr std::array kTypes = {TypeRow{"float32", 4, true},  TypeRow{"float64", 8, true}, TypeRow{"float16", 2, true},
                               TypeRow{"bfloat16", 2, true}, TypeRow{"int64", 8, false},  TypeRow{"int32", 4, false},
                               TypeRow{"int16", 2, false},   TypeRow{"int8", 1, false},   TypeRow{"uint8", 1, false},
                               TypeRow{"boolean", 1, false}};

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }

template <typename T>
T element_at(const Bytes& bytes, uint64_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

float float_at(WeightType type, const Bytes& bytes, uint64_t at) {
  switch (type) {
    case WeightType::float64: return static_cast<float>(element_at<double>(bytes, at));
    case WeightType::float16: return half_to_float(element_at<uint16_t>(bytes, at));
    case WeightType::bfloat16: return bfloat_to_float(element_at<uint16_t>(bytes, at));
    default: return element_at<float>(bytes, at);
  }
}

int64_t integer_of(WeightType type, const Bytes& bytes, uint64_t at) {
  switch (type) {
    case WeightType::int64: return element_at<int64_t>(bytes, at);
    case WeightType::int32: return element_at<int32_t>(bytes, at);
    case WeightType::int16: return element_at<int16_t>(bytes, at);
    case WeightType::int8: return element_at<int8_t>(bytes, at);
    default: return element_at<uint8_t>(bytes, at);
  }
}

// `visit` is told where in the content each element begins, in order.
template <typename Visit>
void for_each_place(const WeightTensor& tensor, const Visit& visit) {
  uint64_t count = 1;
  for (const int64_t size : tensor.shape) count *= static_cast<uint64_t>(size);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  const auto width = static_cast<int64_t>(element_bytes(tensor.type));
  auto at = static_cast<int64_t>(tensor.first_byte);
  for (uint64_t i = 0; i < count; ++i) {
    visit(static_cast<uint64_t>(at));
    // The next element: the last dimension that has one more counts up, those behind it begin anew.
    for (size_t d = index.size(); d-- > 0;) {
      if (tensor.shape[d] == 1) continue;  // its stride means nothing, and may be anything
      at += tensor.strides[d] * width;
      if (++index[d] < tensor.shape[d]) break;
      at -= tensor.strides[d] * width * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::string_view to_string(WeightFormat format) {
  switch (format) {
    case WeightFormat::safetensors: return "safetensors";
    case WeightFormat::npz: return "npz";
    case WeightFormat::pytorch: return "PyTorch";
    case WeightFormat::mindspore: return "MindSpore";
  }
  return "unknown";
}

std::string_view to_string(WeightType type) { return kTypes[static_cast<size_t>(type)].name; }
size_t element_bytes(WeightType type) { return kTypes[static_cast<size_t>(type)].bytes; }
bool is_real(WeightType type) { return kTypes[static_cast<size_t>(type)].is_real; }

std::vector<int64_t> plain_strides(const Shape& shape, bool columns_first) {
  std::vector<int64_t> strides(shape.size(), 1);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t dimension = columns_first ? i : shape.size() - 1 - i;
    strides[dimension] = stride;
    // What overflows is refused by check_tensor, which looks at the shape first.
    if (__builtin_mul_overflow(stride, shape[dimension], &stride)) stride = 0;
  }
  return strides;
}

Status check_tensor(const WeightTensor& tensor) {
  if (tensor.name.size() > kWeightNameBytesMax)
    return Error(ErrorCode::too_large, "has a name of more than 1,024 bytes");
  if (tensor.shape.size() > kWeightRankMax) return Error(ErrorCode::too_large, "has more than 8 dimensions");
  if (tensor.strides.size() != tensor.shape.size())
    return malformed("has another number of strides than of dimensions");
  uint64_t count = 1;
  for (const int64_t size : tensor.shape) {
    if (size < 0) return malformed("has a negative dimension");
    const auto product = checked_multiply(count, static_cast<uint64_t>(size));
    if (!product || *product > kWeightElementsMax) return Error(ErrorCode::too_large, "has more than 2^31 elements");
    count = *product;
  }
  uint64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size() && count > 0; ++i) {
    if (tensor.strides[i] < 0) return malformed("has a negative stride");
    const auto reach =
        checked_multiply(static_cast<uint64_t>(tensor.shape[i] - 1), static_cast<uint64_t>(tensor.strides[i]));
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return malformed("has a stride that overflows");
    last = *sum;
  }
  const uint64_t plain = tensor.content.plain_bytes, size = element_bytes(tensor.type);
  const uint64_t held = tensor.first_byte > plain ? 0 : (plain - tensor.first_byte) / size;
  if (count > 0 && (last >= held || count > held)) {
    return malformed("does not hold the " + std::to_string(count) + " elements of its shape");
  }
  return {};
}

Status check_table(const WeightTable& table) {
  if (table.tensors.size() > kWeightTensorsMax) return Error(ErrorCode::too_large, "has more than 65,536 tensors");
  std::set<std::string_view> names;
  for (const WeightTensor& tensor : table.tensors) {
    if (!names.insert(tensor.name).second) return malformed("has two tensors with the name " + tensor.name);
  }
  return {};
}

Status check_elements(const WeightTable& table, uint64_t elements_max) {
  uint64_t all = 0;  // at most kWeightTensorsMax * kWeightElementsMax
  for (const WeightTensor& tensor : table.tensors) {
    uint64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= static_cast<uint64_t>(size);
    all += elements;
  }
  if (all <= elements_max) return {};
  return Error(ErrorCode::too_large, "has tensors of " + std::to_string(all) + " elements together, at most " +
                                         std::to_string(elements_max) + " are read at once");
}

Result<std::vector<float>> read_values(const WeightTensor& tensor) {
  if (!is_real(tensor.type)) {
    return Error(ErrorCode::invalid_argument,
                 tensor.name + " is of " + std::string(to_string(tensor.type)) + ", and a weight is of floats");
  }
  const Result<Bytes> bytes = read_content(tensor.content);
  if (!bytes) return bytes.error().with_context(tensor.name);
  std::vector<float> values;
  bool is_finite = true;
  for_each_place(tensor, [&](uint64_t at) {
    values.push_back(float_at(tensor.type, *bytes, at));
    is_finite = is_finite && std::isfinite(values.back());
  });
  if (!is_finite) return malformed(tensor.name + " has a value that is not finite");
  return values;
}

Result<std::vector<float>> read_numbers(const WeightTensor& tensor) {
  const Result<Bytes> bytes = read_content(tensor.content);
  if (!bytes) return bytes.error().with_context(tensor.name);
  const bool is_float = is_real(tensor.type);
  std::vector<float> values;
  for_each_place(tensor, [&](uint64_t at) {
    values.push_back(is_float ? float_at(tensor.type, *bytes, at)
                              : static_cast<float>(integer_of(tensor.type, *bytes, at)));
  });
  return values;
}

Result<std::vector<int32_t>> read_integers(const WeightTensor& tensor) {
  if (is_real(tensor.type)) {
    return Error(ErrorCode::invalid_argument, tensor.name + " is of floats, expected whole numbers");
  }
  const Result<Bytes> bytes = read_content(tensor.content);
  if (!bytes) return bytes.error().with_context(tensor.name);
  std::vector<int32_t> values;
  bool fits = true;
  for_each_place(tensor, [&](uint64_t at) {
    const int64_t value = integer_of(tensor.type, *bytes, at);
    fits = fits && value == static_cast<int32_t>(value);
    values.push_back(static_cast<int32_t>(value));
  });
  if (!fits) return malformed(tensor.name + " has a number that does not fit 32 bits");
  return values;
}

}  // namespace coterie::model_import
