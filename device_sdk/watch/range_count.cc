#include "device_sdk/watch/range_count.h"

#include <algorithm>

#include "device_sdk/watch/for_each_value.h"

namespace coterie {

uint64_t count_within(const TensorView& tensor, double start, double end) {
  uint64_t inside = 0;
  for_each_value(tensor.type, tensor.data, tensor.count,
                 [&](double value) { inside += value >= start && value <= end ? 1 : 0; });
  return inside;
}

uint64_t count_dead_units(const TensorView& tensor, uint64_t units, std::vector<uint8_t>& scratch) {
  scratch.assign(units, 0);
  uint64_t unit = 0;
  if (tensor.type == ElementType::float32) {
    const auto* row = static_cast<const float*>(tensor.data);
    uint8_t* const alive = scratch.data();
    for (uint64_t at = 0; at < tensor.count; at += units, row += units) {
      for (uint64_t u = 0; u < units; ++u) alive[u] |= row[u] != 0 ? 1 : 0;
    }
    return static_cast<uint64_t>(std::ranges::count(scratch, 0));
  }
  for_each_value(tensor.type, tensor.data, tensor.count, [&](double value) {
    scratch[unit] |= value != 0 ? 1 : 0;
    unit = unit + 1 == units ? 0 : unit + 1;
  });
  return static_cast<uint64_t>(std::ranges::count(scratch, 0));
}

}  // namespace coterie
