#include "tools/watch/range_count.h"

#include <bit>

namespace coterie {
namespace {

template <typename Visit>
void for_each_value(const TensorView& tensor, const Visit& visit) {
  switch (tensor.type) {
    case ElementType::float32:
      for (uint64_t i = 0; i < tensor.count; ++i) visit(static_cast<double>(static_cast<const float*>(tensor.data)[i]));
      break;
    case ElementType::float64:
      for (uint64_t i = 0; i < tensor.count; ++i) visit(static_cast<const double*>(tensor.data)[i]);
      break;
    case ElementType::bfloat16:
      for (uint64_t i = 0; i < tensor.count; ++i) {
        const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(tensor.data)[i]) << 16;
        visit(static_cast<double>(std::bit_cast<float>(bits)));
      }
      break;
    case ElementType::int32: break;
  }
}

}  // namespace

uint64_t count_within(const TensorView& tensor, double start, double end) {
  uint64_t inside = 0;
  for_each_value(tensor, [&](double value) { inside += value >= start && value <= end ? 1 : 0; });
  return inside;
}

uint64_t count_dead_units(const TensorView& tensor, uint64_t units, std::vector<uint8_t>& scratch) {
  scratch.assign(units, 0);
  uint64_t unit = 0;
  for_each_value(tensor, [&](double value) {
    scratch[unit] |= value != 0 ? 1 : 0;
    unit = unit + 1 == units ? 0 : unit + 1;
  });
  uint64_t dead = 0;
  for (const uint8_t alive : scratch) dead += alive == 0 ? 1 : 0;
  return dead;
}

}  // namespace coterie
