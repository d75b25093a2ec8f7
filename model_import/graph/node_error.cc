#include "model_import/graph/node_error.h"

namespace coterie::model_import {

Error unsupported(const Node& node, const std::string& why) {
  return Error(ErrorCode::invalid_argument, node.what() + ": " + why);
}

Result<uint32_t> axis_in(const Node& node, int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    return Error(ErrorCode::malformed,
                 node.what() + ": axis " + std::to_string(axis) + " of a value of rank " + std::to_string(rank));
  }
  return static_cast<uint32_t>(axis < 0 ? axis + limit : axis);
}

}  // namespace coterie::model_import
