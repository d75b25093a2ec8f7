#include "model_import/convert/window.h"

#include <algorithm>

namespace coterie::model_import {
namespace {

constexpr int64_t kWindowMax = 1 << 24;  // of every number a window is described with: products stay far from overflow

Result<uint32_t> entry(const Node& node, const std::string& key, size_t i, size_t length, int64_t absent,
                       int64_t least) {
  const std::vector<int64_t> list = node.integers(key);
  if (list.empty()) return static_cast<uint32_t>(absent);
  if (list.size() != length)
    return Error(ErrorCode::malformed, node.what() + ": " + key + " must have " + std::to_string(length) + " numbers");
  if (list[i] < least || list[i] > kWindowMax) {
    return Error(ErrorCode::malformed, node.what() + ": " + key + " has " + std::to_string(list[i]) +
                                           ", must be at least " + std::to_string(least));
  }
  return static_cast<uint32_t>(list[i]);
}

}  // namespace

Result<Window> window_of(const Node& node, size_t i, size_t spatial, int64_t size, int64_t kernel) {
  Window window;
  if (kernel < 1 || kernel > kWindowMax || size < 1 || size > limits::kModelDimensionMax) {
    return Error(ErrorCode::malformed, node.what() + ": a kernel or an input without elements");
  }
  window.kernel = static_cast<uint32_t>(kernel);
  COT_ASSIGN(window.stride, entry(node, "strides", i, spatial, 1, 1));
  COT_ASSIGN(window.dilation, entry(node, "dilations", i, spatial, 1, 1));
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) {
    COT_ASSIGN(window.pad_before, entry(node, "pads", i, 2 * spatial, 0, 0));
    COT_ASSIGN(window.pad_after, entry(node, "pads", i + spatial, 2 * spatial, 0, 0));
    return window;
  }
  if (automatic == "VALID") return window;
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER") {
    return Error(ErrorCode::malformed, node.what() + ": auto_pad is " + automatic);
  }
  const int64_t out = (size - 1) / window.stride + 1;
  const int64_t reach = int64_t{window.dilation} * (kernel - 1) + 1;
  const int64_t padding = std::clamp<int64_t>((out - 1) * window.stride + reach - size, 0, limits::kModelDimensionMax);
  const auto smaller = static_cast<uint32_t>(padding / 2), larger = static_cast<uint32_t>(padding - padding / 2);
  window.pad_before = automatic == "SAME_UPPER" ? smaller : larger;
  window.pad_after = automatic == "SAME_UPPER" ? larger : smaller;
  return window;
}

Result<int64_t> convolved_size(const Node& node, int64_t size, const Window& window) {
  const int64_t room = size + window.pad_before + window.pad_after - int64_t{window.dilation} * (window.kernel - 1) - 1;
  if (room < 0) {
    return Error(ErrorCode::malformed, node.what() + ": its kernel of " + std::to_string(window.kernel) +
                                           " does not fit into an input of " + std::to_string(size));
  }
  return room / window.stride + 1;
}

}  // namespace coterie::model_import
