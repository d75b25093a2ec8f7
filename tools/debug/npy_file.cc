#include "tools/debug/npy_file.h"

#include <cstring>

namespace coterie {
namespace {

constexpr size_t kAlignment = 64;
constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);  // version 1.0
constexpr size_t kPrefixBytes = kMagic.size() + 2;          // and the header's length

const char* descr_of(ElementType type) {
  switch (type) {
    case ElementType::int32: return "<i4";
    case ElementType::float64: return "<f8";
    default: return "<f4";
  }
}

template <typename T>
void append(Bytes& to, double value) {
  const T typed = static_cast<T>(value);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&typed);
  to.insert(to.end(), bytes, bytes + sizeof typed);
}

}  // namespace

Bytes npy_file(const NamedTensor& tensor, const ElementSlice& slice) {
  std::string shape;
  const Shape sizes = slice.shape();
  for (const int64_t size : sizes) shape += std::to_string(size) + ",";
  std::string header = std::string("{'descr': '") + descr_of(tensor.values.type) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t bytes = kPrefixBytes + header.size() + 1;
  header += std::string((kAlignment - bytes % kAlignment) % kAlignment, ' ') + "\n";
  Bytes file(kMagic.begin(), kMagic.end());
  file.push_back(static_cast<uint8_t>(header.size() & 0xff));
  file.push_back(static_cast<uint8_t>(header.size() >> 8));
  file.insert(file.end(), header.begin(), header.end());
  for_each_element(slice, tensor.shape, [&](uint64_t element) {
    const double value = value_at(tensor.values, element);
    switch (tensor.values.type) {
      case ElementType::int32: append<int32_t>(file, value); break;
      case ElementType::float64: append<double>(file, value); break;
      default: append<float>(file, value);
    }
    return true;
  });
  return file;
}

}  // namespace coterie
