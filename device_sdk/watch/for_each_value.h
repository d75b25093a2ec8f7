// Visits the elements of a tensor as double, whatever they are stored as.
#pragma once

#include <bit>
#include <cstdint>

#include "device_sdk/runtime/program_buffer.h"

namespace coterie {

// visit(value), in order. int32: none, as they are no measurements.
template <typename Visit>
void for_each_value(ElementType type, const void* data, uint64_t count, const Visit& visit) {
  switch (type) {
    case ElementType::float32:
      for (uint64_t i = 0; i < count; ++i) visit(static_cast<double>(static_cast<const float*>(data)[i]));
      break;
    case ElementType::float64:
      for (uint64_t i = 0; i < count; ++i) visit(static_cast<const double*>(data)[i]);
      break;
    case ElementType::bfloat16:
      for (uint64_t i = 0; i < count; ++i) {
        const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(data)[i]) << 16;
        visit(static_cast<double>(std::bit_cast<float>(bits)));
      }
      break;
    case ElementType::int32: break;
  }
}

}  // namespace coterie
