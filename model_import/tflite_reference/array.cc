#include "model_import/tflite_reference/array.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coterie::model_import {
Result<size_t> elements_of(const TfliteTensor& tensor) {
  uint64_t size = 1;
  for (const int64_t dimension : tensor.shape) size *= static_cast<uint64_t>(dimension);  // at most 2^40 (the reader)
  if (size > kTfliteElementsMax) {
    return Error(ErrorCode::too_large, "tensor " + tensor.name + " has more than 2^26 elements");
  }
  return static_cast<size_t>(size);
}

Result<TfliteArray> zeros_of(const TfliteTensor& tensor) {
  COT_ASSIGN(const size_t size, elements_of(tensor));
  TfliteArray array{.shape = tensor.shape, .reals = {}, .integers = {}};
  if (is_real(tensor.type)) array.reals.resize(size);
  else array.integers.resize(size);
  return array;
}

Result<TfliteArray> constant_of(const TfliteTensor& tensor) {
  COT_TRY(elements_of(tensor));
  TfliteArray array{.shape = tensor.shape, .reals = {}, .integers = {}};
  if (is_real(tensor.type)) array.reals = numbers_of(tensor);
  else array.integers = integers_of(tensor);
  return array;
}

std::vector<double> real_numbers(const TfliteTensor& tensor, const TfliteArray& array) {
  if (is_real(tensor.type)) return array.reals;
  std::vector<double> reals(array.integers.begin(), array.integers.end());
  if (!tensor.grid.is_given()) return reals;
  size_t inner = 1;
  for (size_t d = tensor.grid.axis + 1; d < tensor.shape.size(); ++d) inner *= static_cast<size_t>(tensor.shape[d]);
  const size_t places = tensor.grid.scales.size();
  for (size_t i = 0; i < reals.size(); ++i) {
    const size_t place = places == 1 ? 0 : i / inner % places;
    reals[i] = static_cast<double>(tensor.grid.scales[place]) *
               (static_cast<double>(array.integers[i]) - static_cast<double>(tensor.grid.zeros[place]));
  }
  return reals;
}

std::vector<int64_t> grid_numbers(const TfliteTensor& tensor, std::span<const double> reals) {
  const IntegerRange range = range_of(tensor.type);
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  std::vector<int64_t> integers;
  integers.reserve(reals.size());
  for (const double real : reals) {
    const double steps = std::round(real / static_cast<double>(tensor.grid.scales[0]));
    const double at = steps + static_cast<double>(tensor.grid.zeros[0]);
    integers.push_back(std::isnan(at) ? range.low : static_cast<int64_t>(std::clamp(at, low, high)));
  }
  return integers;
}

IntegerRange range_of(TfliteType type) {
  switch (type) {
    case TfliteType::int8: return {-128, 127};
    case TfliteType::uint8: return {0, 255};
    case TfliteType::int16: return {-32768, 32767};
    case TfliteType::boolean: return {0, 1};
    case TfliteType::int64: return {-(int64_t{1} << 53), int64_t{1} << 53};  // doubles have no more
    default: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

}  // namespace coterie::model_import
