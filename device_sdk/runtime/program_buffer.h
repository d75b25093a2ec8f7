// What lies in a buffer of a Program, for whoever reads a plan. The functions of steps see pointers alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/messages/model.h"

namespace coterie {

// Wider than DataType, which is what model files hold.
enum class ElementType : uint8_t { float32, int32, bfloat16, float64 };

constexpr uint64_t size_of(ElementType type) {
  switch (type) {
    case ElementType::bfloat16: return 2;
    case ElementType::float64: return 8;
    default: return 4;
  }
}

constexpr std::string_view to_string(ElementType type) {
  constexpr std::string_view kNames[] = {"float32", "int32", "bfloat16", "float64"};
  return kNames[static_cast<size_t>(type)];
}

constexpr ElementType element_type(DataType type) {
  return type == DataType::int32 ? ElementType::int32 : ElementType::float32;
}

// What the elements are: of a tensor of the graph its values, their gradient or a moment that the optimizer keeps;
// the loss's target; or what steps of one op tell each other.
enum class BufferRole : uint8_t { scratch, value, gradient, moment, target };

struct BufferContent {
  ElementType type = ElementType::float32;
  BufferRole role = BufferRole::scratch;
  uint32_t tensor = kNoTensor;  // of value, gradient and moment
  uint64_t elements = 0;        // 0: as many as the buffer's bytes have room for
};

// planned: in the memory that buffers share one after the other; fixed: in a region of its own; constant: in the model.
enum class BufferPlace : uint8_t { planned, fixed, constant };

}  // namespace coterie
