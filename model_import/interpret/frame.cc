#include "model_import/interpret/frame.h"

#include <algorithm>

namespace coterie::model_import {
namespace {

constexpr int64_t kSizeMax = 1 << 24;  // of a kernel, a stride, a pad: products stay far from overflow

// Element `i` of an attribute with one number a spatial dimension.
Result<int64_t> number(const Call& call, const char* key, size_t i, size_t expected, int64_t absent, int64_t least) {
  const std::vector<int64_t> numbers = call.node.integers(key);
  if (numbers.empty()) return absent;
  if (numbers.size() != expected) return bad_form(std::string(key) + " of the wrong length");
  if (numbers[i] < least || numbers[i] > kSizeMax) return bad_form(std::string(key) + " out of range");
  return numbers[i];
}

}  // namespace

Result<Frames> frames_of(const Call& call, const Shape& kernel) {
  const Array& x = call.operand(0);
  if (x.rank() < 3 || x.rank() > 5) return unknown_form("an operand of rank " + std::to_string(x.rank()));
  const size_t spatial = x.rank() - 2;
  if (!kernel.empty() && kernel.size() != spatial) return bad_form("weights of another rank than the operand's");
  if (kernel.empty() && call.node.integers("kernel_shape").empty()) return bad_form("no kernel_shape");
  Frames frames;
  for (size_t i = 0; i < spatial; ++i) {
    Frame& frame = frames[3 - spatial + i];
    frame.size = x.shape[2 + i];
    COT_ASSIGN(frame.kernel, number(call, "kernel_shape", i, spatial, kernel.empty() ? 1 : kernel[i], 1));
    if (!kernel.empty() && frame.kernel != kernel[i]) return bad_form("kernel_shape and weights disagree");
    COT_ASSIGN(frame.stride, number(call, "strides", i, spatial, 1, 1));
    COT_ASSIGN(frame.dilation, number(call, "dilations", i, spatial, 1, 1));
    COT_ASSIGN(frame.pad_before, number(call, "pads", i, 2 * spatial, 0, 0));
    COT_ASSIGN(frame.pad_after, number(call, "pads", spatial + i, 2 * spatial, 0, 0));
    COT_ASSIGN(frame.output_padding, number(call, "output_padding", i, spatial, 0, 0));
    if (frame.size < 1 || frame.extent() > kSizeMax) return bad_form("a window or an image out of range");
  }
  return frames;
}

Status lay_windows(const Call& call, Frame& frame, bool is_ceil) {
  const std::string padding = call.node.text("auto_pad", "NOTSET");
  if (padding == "SAME_UPPER" || padding == "SAME_LOWER") {
    frame.count = (frame.size + frame.stride - 1) / frame.stride;
    const int64_t total = std::max<int64_t>(0, (frame.count - 1) * frame.stride + frame.extent() - frame.size);
    frame.pad_before = padding == "SAME_UPPER" ? total / 2 : total - total / 2;
    frame.pad_after = total - frame.pad_before;
    return {};
  }
  if (padding == "VALID") frame.pad_before = frame.pad_after = 0;
  else if (padding != "NOTSET") return unknown_form("auto_pad " + padding);
  const int64_t room = frame.size + frame.pad_before + frame.pad_after - frame.extent();
  if (room < 0) return bad_form("a window that is larger than its operand");
  frame.count = room / frame.stride + 1;
  // A last window that is cut short counts if it begins inside the image or the padding before it.
  if (is_ceil && room % frame.stride != 0 && frame.count * frame.stride < frame.size + frame.pad_before) ++frame.count;
  return {};
}

}  // namespace coterie::model_import
