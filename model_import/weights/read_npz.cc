#include <algorithm>
#include <charconv>

#include "model_import/weights/little_endian.h"
#include "model_import/weights/read_weights.h"
#include "model_import/weights/zip_archive.h"

namespace coterie::model_import {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kHeaderBytesMax = 4'096;  // of one array: a dictionary with three keys
constexpr std::string_view kSuffix = ".npy";

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }

struct TypeName {
  std::string_view name;
  WeightType type;
};
constexpr TypeName kTypes[] = {
    {"'<f4'", WeightType::float32}, {"'<f8'", WeightType::float64}, {"'<f2'", WeightType::float16},
    {"'<i8'", WeightType::int64},   {"'<i4'", WeightType::int32},   {"'<i2'", WeightType::int16},
    {"'|i1'", WeightType::int8},    {"'|u1'", WeightType::uint8},   {"'|b1'", WeightType::boolean}};

// What stands behind 'KEY': in the header, a Python dictionary as NumPy writes it.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Result<Shape> shape_in(std::string_view text) {
  Shape shape;
  if (!text.starts_with('(')) return malformed("has no shape in its header");
  text.remove_prefix(1);
  while (!text.starts_with(')')) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return malformed("has a shape that is none");
    if (shape.size() == kWeightRankMax) return Error(ErrorCode::too_large, "has more than 8 dimensions");
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with(',') && !text.starts_with(')')) return malformed("has a shape that is none");
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return shape;
}

Result<WeightTensor> read_array(const ZipMember& member) {
  WeightTensor tensor{.name = member.name, .content = member.content};
  if (std::string_view(tensor.name).ends_with(kSuffix)) tensor.name.resize(tensor.name.size() - kSuffix.size());
  COT_ASSIGN(const Bytes begin, read_beginning(member.content, kHeaderBytesMax));
  if (begin.size() < 12 || !as_text(begin).starts_with(kMagic)) return malformed("is no .npy array");
  const uint8_t version = begin[6];
  if (version < 1 || version > 3) {
    return Error(ErrorCode::unsupported_version,
                 "is an .npy array of version " + std::to_string(version) + ", expected 1 to 3");
  }
  const uint64_t at = version == 1 ? 10 : 12;
  const uint64_t length = version == 1 ? u16_at(begin, 8) : u32_at(begin, 8);
  if (length > begin.size() - at) return malformed("is an .npy array that ends within its header");
  const std::string_view header = as_text(begin).substr(at, length);
  const std::string_view descr = value_of(header, "descr");
  const auto* const type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return descr.starts_with(t.name); });
  if (type == std::end(kTypes)) {
    if (descr.starts_with("'|O'")) {
      return Error(ErrorCode::invalid_argument, "holds Python objects, which only Python can read: save plain arrays");
    }
    return malformed("has elements of type " + std::string(descr.substr(0, std::min<size_t>(descr.find(','), 64))) +
                     ", expected floats or integers, little-endian");
  }
  tensor.type = type->type;
  COT_ASSIGN(tensor.shape, shape_in(value_of(header, "shape")));
  tensor.first_byte = at + length;
  const bool columns_first = value_of(header, "fortran_order").starts_with("True");
  tensor.strides = plain_strides(tensor.shape, columns_first);
  COT_TRY(check_tensor(tensor));
  uint64_t count = 1;
  for (const int64_t size : tensor.shape) count *= static_cast<uint64_t>(size);
  if (tensor.content.plain_bytes - tensor.first_byte != count * element_bytes(tensor.type)) {
    return malformed("has " + std::to_string(tensor.content.plain_bytes - tensor.first_byte) +
                     " bytes behind its header, expected " + std::to_string(count * element_bytes(tensor.type)));
  }
  return tensor;
}

}  // namespace

Result<WeightTable> read_npy(ByteView file) {
  const ZipMember member{.name = "array", .content = {.parts = {file}, .plain_bytes = file.size()}};
  COT_ASSIGN(WeightTensor tensor, read_array(member));
  WeightTable table{.format = WeightFormat::npz, .tensors = {}, .notes = {}};
  table.tensors.push_back(std::move(tensor));
  COT_TRY(check_table(table));
  return table;
}

Result<WeightTable> read_npz(ByteView file) {
  COT_ASSIGN(const std::vector<ZipMember> members, read_zip(file));
  WeightTable table{.format = WeightFormat::npz, .tensors = {}, .notes = {}};
  for (const ZipMember& member : members) {
    Result<WeightTensor> tensor = read_array(member);
    if (!tensor) return tensor.error().with_context(member.name);
    table.tensors.push_back(std::move(*tensor));
  }
  COT_TRY(check_table(table));
  return table;
}

}  // namespace coterie::model_import
