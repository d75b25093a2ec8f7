// Pools, and Resize.
#include <algorithm>
#include <cmath>

#include "model_import/convert/convert.h"
#include "model_import/convert/window.h"

namespace coterie::model_import {
namespace {

Result<int64_t> pooled_size(const Node& node, int64_t size, const Window& window, bool is_ceil, uint32_t& cut) {
  COT_ASSIGN(int64_t count, convolved_size(node, size, window));
  const int64_t whole = size + window.pad_before + window.pad_after;
  const int64_t covered = (count - 1) * window.stride + window.kernel;
  // PyTorch: a last, cut window counts only if it begins inside the input or the padding before it.
  if (is_ceil && covered < whole && count * window.stride < size + window.pad_before) ++count;
  cut = static_cast<uint32_t>(std::max<int64_t>(0, (count - 1) * window.stride + window.kernel - whole));
  return count;
}

Status convert_pool(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  if (x.rank() != 3 && x.rank() != 4) return unsupported(node, "only of images and sequences");
  const size_t spatial = x.rank() - 2;
  if (kernel.size() != spatial) return Error(ErrorCode::malformed, node.what() + ": kernel_shape has the wrong length");
  if (node.has_output(1) && context.readers(node.outputs[1]) != 0) return unsupported(node, "its output of indices");
  Window windows[2];
  int64_t sizes[2] = {1, 1};
  uint32_t cuts[2] = {0, 0};
  for (size_t i = 0; i < spatial; ++i) {
    const size_t to = i + 2 - spatial;
    COT_ASSIGN(windows[to], window_of(node, i, spatial, x.shape[i + 2], kernel[i]));
    if (windows[to].dilation != 1) return unsupported(node, "dilations");
    COT_ASSIGN(sizes[to], pooled_size(node, x.shape[i + 2], windows[to], node.integer("ceil_mode", 0) != 0, cuts[to]));
  }
  Pool2dAttributes a;
  a.kernel_h = windows[0].kernel, a.kernel_w = windows[1].kernel;
  a.stride_h = windows[0].stride, a.stride_w = windows[1].stride;
  a.pad_top = windows[0].pad_before, a.pad_bottom = windows[0].pad_after;
  a.pad_left = windows[1].pad_before, a.pad_right = windows[1].pad_after;
  a.ceil_h = cuts[0], a.ceil_w = cuts[1];
  a.count_padding = node.op == "AveragePool" && node.integer("count_include_pad", 0) != 0;
  TensorIndex tensor = context.image(x);
  if (spatial == 1) tensor = context.writer.reshape(tensor, {x.shape[0], 1, x.shape[2], x.shape[1]});
  TensorIndex y = context.writer.op(node.op == "MaxPool" ? OpKind::max_pool2d : OpKind::average_pool2d, name_of(node),
                                    {tensor}, a, {x.shape[0], sizes[0], sizes[1], x.shape[1]});
  if (spatial == 1) y = context.writer.reshape(y, {x.shape[0], sizes[1], x.shape[1]});
  context.define(node, 0, y, image_order(x.rank()));
  return {};
}

Status convert_global_pool(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.rank() < 3) return unsupported(node, "needs images or sequences");
  const TensorIndex tensor = context.image(x);
  Shape kept(x.rank(), 1);
  kept[0] = x.shape[0];
  kept.back() = x.shape[1];
  TensorIndex y;
  if (node.op == "GlobalAveragePool" && x.rank() == 4) {
    y = context.writer.op(OpKind::global_average_pool2d, name_of(node), {tensor}, {}, {x.shape[0], x.shape[1]});
    y = context.writer.reshape(y, kept);
  } else {
    ReduceAttributes reduce;
    for (size_t i = 1; i + 1 < x.rank(); ++i) reduce.axes.push_back(static_cast<int64_t>(i));
    const OpKind kind = node.op == "GlobalAveragePool" ? OpKind::reduce_mean : OpKind::reduce_max;
    y = context.writer.op(kind, name_of(node), {tensor}, reduce, kept);
  }
  context.define(node, 0, y, image_order(x.rank()));
  return {};
}

template <typename T, size_t n>
Result<T> choice(const Node& node, const char* key, const char* absent, const std::pair<const char*, T> (&known)[n]) {
  const std::string text = node.text(key, absent);
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names += names.empty() ? name : std::string(", ") + name;
  }
  return unsupported(node, std::string(key) + " " + text + "; supported are " + names);
}

Status read_resize_modes(const Node& node, Resize2dAttributes& a) {
  static constexpr std::pair<const char*, ResizeMode> kModes[] = {{"nearest", ResizeMode::nearest},
                                                                  {"linear", ResizeMode::bilinear}};
  static constexpr std::pair<const char*, ResizeCoordinates> kCoordinates[] = {
      {"half_pixel", ResizeCoordinates::half_pixel},
      {"pytorch_half_pixel", ResizeCoordinates::pytorch_half_pixel},
      {"align_corners", ResizeCoordinates::align_corners},
      {"asymmetric", ResizeCoordinates::asymmetric}};
  static constexpr std::pair<const char*, ResizeRounding> kRoundings[] = {
      {"round_prefer_floor", ResizeRounding::round_prefer_floor},
      {"round_prefer_ceil", ResizeRounding::round_prefer_ceil},
      {"floor", ResizeRounding::floor},
      {"ceil", ResizeRounding::ceil}};
  COT_ASSIGN(a.mode, choice(node, "mode", "nearest", kModes));
  COT_ASSIGN(a.coordinates, choice(node, "coordinate_transformation_mode", "half_pixel", kCoordinates));
  COT_ASSIGN(a.rounding, choice(node, "nearest_mode", "round_prefer_floor", kRoundings));
  if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return unsupported(node, "keep_aspect_ratio_policy: say the sizes that it comes to");
  if (node.integer("antialias", 0) != 0) return unsupported(node, "antialias");
  if (!node.integers("axes").empty()) return unsupported(node, "axes: give sizes or scales for all dimensions");
  return {};
}

Status convert_resize(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.rank() != 4) return unsupported(node, "only of images (rank 4)");
  Resize2dAttributes a;
  COT_TRY(read_resize_modes(node, a));
  double sizes[2] = {0, 0};
  const bool has_scales =
      node.has_input(2) && context.in(node, 2).host != nullptr && context.in(node, 2).host->stored() != 0;
  if (has_scales) {
    const HostTensor& scales = *context.in(node, 2).host;
    if (scales.reals.size() != 4 || scales.reals[0] != 1 || scales.reals[1] != 1)
      return unsupported(node, "only height and width may change");
    for (size_t i = 0; i < 2; ++i)
      sizes[i] = std::floor(static_cast<double>(x.shape[i + 2]) * static_cast<double>(scales.reals[i + 2]));
    a.scale_h = scales.reals[2], a.scale_w = scales.reals[3];
  } else {
    if (!node.has_input(3)) return Error(ErrorCode::malformed, node.what() + ": neither scales nor sizes");
    COT_ASSIGN(const HostTensor* target, context.host(node, 3));
    if (target->integers.size() != 4 || target->integers[1] != Integer{x.shape[1], false} ||
        target->integers[2].per_batch || target->integers[3].per_batch) {
      return unsupported(node, "only height and width may change");
    }
    for (size_t i = 0; i < 2; ++i) sizes[i] = static_cast<double>(target->integers[i + 2].value);
  }
  for (const double size : sizes) {
    if (!(size >= 1 && size <= 1 << 24))
      return Error(ErrorCode::malformed, node.what() + ": its output would have no elements, or too many");
  }
  a.height = static_cast<uint32_t>(sizes[0]), a.width = static_cast<uint32_t>(sizes[1]);
  context.define(node, 0,
                 context.writer.op(OpKind::resize2d, name_of(node), {context.image(x)}, a,
                                   {x.shape[0], a.height, a.width, x.shape[1]}),
                 image_order(4));
  return {};
}

}  // namespace

Converter pool_converter(const std::string& op) {
  if (op == "MaxPool" || op == "AveragePool") return convert_pool;
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool") return convert_global_pool;
  if (op == "Resize") return convert_resize;
  return nullptr;
}

}  // namespace coterie::model_import
