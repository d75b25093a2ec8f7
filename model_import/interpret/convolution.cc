// Conv and ConvTranspose, of images and sequences.
#include <algorithm>
#include <array>

#include "model_import/interpret/frame.h"

namespace coterie::model_import {
namespace {

Shape output_shape(const Array& x, int64_t channels, const Frames& frames) {
  Shape shape{x.shape[0], channels};
  for (size_t i = 5 - x.rank(); i < 3; ++i) shape.push_back(frames[i].count);
  return shape;
}

Status add_bias(const Call& call, Array& y) {
  if (!call.has(2)) return {};
  const Array& bias = call.operand(2);
  const auto channels = static_cast<size_t>(y.shape[1]);
  if (y.values.empty()) return {};
  if (bias.values.size() != channels) return bad_form("a bias that has not one number a channel");
  const size_t pixels = y.values.size() / channels / static_cast<size_t>(y.shape[0]);
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] += bias.values[i / pixels % channels];
  return {};
}

using Place = std::array<int64_t, 3>;

int64_t flat(const Place& at, const Place& sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }
Place sizes_of(const Frames& frames) { return {frames[0].size, frames[1].size, frames[2].size}; }
Place counts_of(const Frames& frames) { return {frames[0].count, frames[1].count, frames[2].count}; }
int64_t product(const Place& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// What both directions do: visit(element of the image, of the windows, of the kernel) for each that meet.
template <typename Visit>
void meet(const Frames& frames, const Place& image, const Place& windows, Visit&& visit) {
  const auto is_inside = [&](size_t k, int64_t at) { return at >= 0 && at < image[k]; };
  for (int64_t od = 0; od < windows[0]; ++od) {
    for (int64_t kd = 0; kd < frames[0].kernel; ++kd) {
      const int64_t d = frames[0].position(od, kd);
      for (int64_t oh = 0; oh < windows[1] && is_inside(0, d); ++oh) {
        for (int64_t kh = 0; kh < frames[1].kernel; ++kh) {
          const int64_t h = frames[1].position(oh, kh), tap = (kd * frames[1].kernel + kh) * frames[2].kernel;
          if (!is_inside(1, h)) continue;
          for (int64_t kw = 0; kw < frames[2].kernel; ++kw) {
            for (int64_t ow = 0; ow < windows[2]; ++ow) {
              const int64_t w = frames[2].position(ow, kw);
              if (is_inside(2, w)) visit(flat({d, h, w}, image), flat({od, oh, ow}, windows), tap + kw);
            }
          }
        }
      }
    }
  }
}

// y[b, o, w] = sum over c and i of x[b, c, position(w, i)] W[o, c, i], the channels c of o's group
Result<Outputs> compute_conv(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &weights = call.operand(1);
  if (weights.rank() != x.rank() || x.rank() < 3) return bad_form("weights of another rank than the operand's");
  COT_ASSIGN(Frames frames, frames_of(call, Shape(weights.shape.begin() + 2, weights.shape.end())));
  for (size_t i = 5 - x.rank(); i < 3; ++i) COT_TRY(lay_windows(call, frames[i], false));
  const int64_t groups = call.node.integer("group", 1), channels = x.shape[1], filters = weights.shape[0];
  if (groups < 1 || groups > channels || filters < 1 || filters % groups != 0 ||
      weights.shape[1] != channels / groups || channels % groups != 0) {
    return bad_form("channels, groups and weights that do not fit");
  }
  COT_ASSIGN(Array y, zeros(Element::real, output_shape(x, filters, frames)));
  const int64_t inner = channels / groups, taps = frames[0].kernel * frames[1].kernel * frames[2].kernel;
  const int64_t pixels = product(sizes_of(frames)), windows = product(counts_of(frames));
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t o = 0; o < filters; ++o) {
      double* to = y.values.data() + (b * filters + o) * windows;
      for (int64_t c = 0; c < inner; ++c) {
        const int64_t channel = o / (filters / groups) * inner + c;
        const double* image = x.values.data() + (b * channels + channel) * pixels;
        const double* kernel = weights.values.data() + (o * inner + c) * taps;
        meet(frames, sizes_of(frames), counts_of(frames),
             [&](int64_t pixel, int64_t window, int64_t tap) { to[window] += image[pixel] * kernel[tap]; });
      }
    }
  }
  COT_TRY(add_bias(call, y));
  return one(std::move(y));
}

// The size of the output along one dimension, and the pads where they follow from it.
Status lay_transposed(const Call& call, Frame& frame, size_t i, size_t spatial) {
  const std::string padding = call.node.text("auto_pad", "NOTSET");
  const std::vector<int64_t> wanted = call.node.integers("output_shape");
  const int64_t whole_size = frame.stride * (frame.size - 1) + frame.output_padding + frame.extent();
  if (padding == "VALID") frame.pad_before = frame.pad_after = 0;
  else if (padding != "NOTSET" && padding != "SAME_UPPER" && padding != "SAME_LOWER")
    return unknown_form("auto_pad " + padding);
  const bool is_same = padding.starts_with("SAME");
  if (!is_same && wanted.empty()) {
    frame.count = whole_size - frame.pad_before - frame.pad_after;
  } else {
    if (!wanted.empty() && wanted.size() != spatial) return bad_form("output_shape of the wrong length");
    frame.count = wanted.empty() ? frame.size * frame.stride : wanted[i];
    // An output that is larger than all windows ends in zeros: ONNX's own tests have it so, its text does not say.
    const int64_t total = std::max<int64_t>(0, whole_size - frame.count);
    frame.pad_before = padding == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  if (frame.count < 1 || frame.count > (1 << 24)) return bad_form("an output out of range");
  return {};
}

// The gradient of Conv by its operand: each element of x is a window, and adds to the positions that it covers.
Result<Outputs> compute_conv_transpose(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &weights = call.operand(1);
  if (weights.rank() != x.rank() || x.rank() < 3) return bad_form("weights of another rank than the operand's");
  COT_ASSIGN(Frames frames, frames_of(call, Shape(weights.shape.begin() + 2, weights.shape.end())));
  const size_t spatial = x.rank() - 2;
  for (size_t i = 0; i < spatial; ++i) COT_TRY(lay_transposed(call, frames[3 - spatial + i], i, spatial));
  const int64_t groups = call.node.integer("group", 1), channels = x.shape[1];
  if (groups < 1 || channels < 1 || channels % groups != 0 || weights.shape[0] != channels || weights.shape[1] < 1)
    return bad_form("channels, groups and weights that do not fit");
  const int64_t per_group = weights.shape[1], filters = per_group * groups;
  COT_ASSIGN(Array y, zeros(Element::real, output_shape(x, filters, frames)));
  const int64_t taps = frames[0].kernel * frames[1].kernel * frames[2].kernel;
  const int64_t pixels = product(counts_of(frames)), windows = product(sizes_of(frames));
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t c = 0; c < channels; ++c) {
      const double* from = x.values.data() + (b * channels + c) * windows;
      for (int64_t o = 0; o < per_group; ++o) {
        double* image = y.values.data() + (b * filters + c / (channels / groups) * per_group + o) * pixels;
        const double* kernel = weights.values.data() + (c * per_group + o) * taps;
        meet(frames, counts_of(frames), sizes_of(frames),
             [&](int64_t pixel, int64_t window, int64_t tap) { image[pixel] += from[window] * kernel[tap]; });
      }
    }
  }
  COT_TRY(add_bias(call, y));
  return one(std::move(y));
}

}  // namespace

Operator convolution_operator(const std::string& op) {
  if (op == "Conv") return compute_conv;
  return op == "ConvTranspose" ? compute_conv_transpose : nullptr;
}

}  // namespace coterie::model_import
