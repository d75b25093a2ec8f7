#include "proto/messages/model.h"

#include "base/checked.h"

namespace coterie {

std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::dense: return "dense";
    case OpKind::conv2d: return "conv2d";
    case OpKind::max_pool2d: return "max_pool2d";
    case OpKind::average_pool2d: return "average_pool2d";
    case OpKind::global_average_pool2d: return "global_average_pool2d";
    case OpKind::relu: return "relu";
    case OpKind::add: return "add";
    case OpKind::flatten: return "flatten";
    case OpKind::reshape: return "reshape";
  }
  return "unknown";
}

Result<uint64_t> element_count(const Shape& shape) {
  uint64_t count = 1;
  for (int64_t dimension : shape) {
    if (dimension < 1) return Error(ErrorCode::malformed, "a dimension is " + std::to_string(dimension) + ", must be at least 1");
    const auto product = checked_multiply(count, static_cast<uint64_t>(dimension));
    if (!product) return Error(ErrorCode::malformed, "the number of elements of a shape overflows");
    count = *product;
  }
  return count;
}

}  // namespace coterie
