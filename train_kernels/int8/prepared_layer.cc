#include "train_kernels/int8/prepared_layer.h"

#include <algorithm>

#include "base/checked.h"
#include "train_kernels/int8/depthwise_rows.h"
#include "train_kernels/int8/side_by_side.h"
#include "train_kernels/int8/vector_kernels.h"

namespace coterie::kernels::int8 {
namespace {

constexpr size_t kImageBytesMax = size_t{1} << 27;
constexpr size_t kElementBytesMax = 2;  // of any instruction set, as the next
constexpr size_t kLanesMax = 16;

void store_element(uint8_t* to, int value, size_t element_bytes) {
  const auto element = static_cast<uint16_t>(value);
  to[0] = static_cast<uint8_t>(element);
  if (element_bytes == 2) to[1] = static_cast<uint8_t>(element >> 8);
}

}  // namespace

bool PreparedLayer::can(const Conv2dShape& shape) {
  const auto pixels = checked_multiply(shape.padded_h(), shape.padded_w());
  if (!pixels || *pixels > kImageBytesMax / (shape.channels * kElementBytesMax)) return false;
  // The kernel is no higher than the image.
  return !packs_columns(shape) || shape.kernel_h * shape.padded_w() <= kImageBytesMax / (kLanesMax * sizeof(uint32_t));
}

PreparedLayer::PreparedLayer(Adder adder, const Conv2dShape& shape, const Weighted& layer)
    : PreparedLayer(*vector_kernels(adder), shape, layer, neighbours_at_once(shape, *vector_kernels(adder))) {}

PreparedLayer::PreparedLayer(const VectorKernels& kernels, const Conv2dShape& shape, const Weighted& layer,
                             size_t neighbours)
    : kernels_(kernels),
      shape_(side_by_side(shape, neighbours)),
      zero_in_(layer.zero_in),
      to_(layer.to),
      move_(kernels_.has_no_zero ? -layer.zero_in : kernels_.move),
      block_(is_depthwise() ? kernels_.lanes : round_up<size_t>(shape_.filters / shape_.groups, kernels_.lanes)) {
  if (is_depthwise()) {
    pack_depthwise(layer);
    return;
  }
  plan_segments();
  if (neighbours == 1) {
    pack_groups(layer);
    return;
  }
  const SideBySide wide = side_by_side(shape, layer, neighbours);
  pack_groups({wide.weights.data(), wide.bias.data(), wide.multipliers.data(), layer.zero_in, layer.to});
}

size_t PreparedLayer::bytes() const {
  const auto of = [](const auto& values) { return values.size() * sizeof(values[0]); };
  return of(weights_) + of(bias_) + of(multipliers_) + of(image_) + of(columns_) + of(pixels_) + of(segments_) +
         of(lanes_);
}

void PreparedLayer::put(size_t at, int8_t weight) {
  store_element(weights_.data() + at * kernels_.element_bytes, weight, kernels_.element_bytes);
}

// Bytes of a window that follow each other are one segment: a row of the kernel, if nothing lies between its taps.
void PreparedLayer::plan_segments() {
  const Conv2dShape& s = shape_;
  const size_t bytes = kernels_.element_bytes, depth = s.channels / s.groups;
  const bool is_row = s.groups == 1 && s.dilation_w == 1;
  segment_elements_ = is_row ? s.kernel_w * depth : depth;
  segment_bytes_ = round_up<size_t>(segment_elements_ * bytes, kLaneBytes);
  for (size_t kh = 0; kh < s.kernel_h; ++kh) {
    for (size_t kw = 0; kw < (is_row ? 1 : s.kernel_w); ++kw) {
      segments_.push_back((kh * s.dilation_h * s.padded_w() + kw * s.dilation_w) * s.channels * bytes);
    }
  }
  for (const size_t segment : segments_) {
    for (size_t b = 0; b < segment_bytes_; b += kLaneBytes) lanes_.push_back(segment + b);
  }
  for (size_t i = 0; i < s.out_h(); ++i) {
    for (size_t j = 0; j < s.out_w(); ++j) {
      pixels_.push_back((i * s.stride_h * s.padded_w() + j * s.stride_w) * s.channels * bytes);
    }
  }
  // The last lane of a window may be read beyond its last tap, whose weight is 0 there.
  fill_padding(kLaneBytes - 1);
}

void PreparedLayer::fill_padding(size_t slack) {
  const size_t bytes = kernels_.element_bytes, elements = shape_.padded_h() * shape_.padded_w() * shape_.channels;
  image_.resize(elements * bytes + slack);
  // Padding has the value zero, which is zero_in on this grid. It is written once: run() writes the pixels alone.
  for (size_t i = 0; i < elements; ++i) store_element(image_.data() + i * bytes, zero_in_ + move_, bytes);
}

// The sum of (x - zero) w is that of (x + move) w without (move + zero) times the sum of w.
void PreparedLayer::pack_groups(const Weighted& layer) {
  const size_t lane = kLaneBytes / kernels_.element_bytes, row = segment_bytes_ / kernels_.element_bytes;
  const size_t block = shape_.filters / shape_.groups, taps = segments_.size() * row;
  weights_.resize(shape_.groups * block_ * taps * kernels_.element_bytes);
  bias_.resize(shape_.groups * block_);
  multipliers_.resize(bias_.size());
  for (size_t f = 0; f < shape_.filters; ++f) {
    const size_t to = f / block * block_ + f % block;
    uint32_t bias = static_cast<uint32_t>(layer.bias[f]);
    for (size_t i = 0; i < shape_.taps(); ++i) {
      const int8_t weight = layer.weights[i * shape_.filters + f];
      // From weights[taps, filters], row-major, to
      //
      //   [groups, outputs / lanes, taps / lane, lanes, lane]      lane: taps that one instruction multiplies and adds
      //
      // where each segment of taps is filled up with zeros to whole lanes.
      const size_t t = i / segment_elements_ * row + i % segment_elements_;
      put((to / kernels_.lanes * taps + t / lane * lane) * kernels_.lanes + to % kernels_.lanes * lane + t % lane,
          weight);
      // In unsigned numbers: a sum of int32 may wrap in between, and the whole is right modulo 2^32.
      bias -= static_cast<uint32_t>((move_ + zero_in_) * weight);
    }
    bias_[to] = static_cast<int32_t>(bias);
    multipliers_[to] = layer.multipliers[f];
  }
}

void PreparedLayer::pack_depthwise(const Weighted& layer) {
  const Conv2dShape& s = shape_;
  if (kernels_.depthwise_rows != nullptr) {
    DepthwiseRows packed = pack_depthwise_rows(s, layer, move_ + zero_in_);
    weights_ = std::move(packed.weights);
    bias_ = std::move(packed.bias);
    multipliers_ = std::move(packed.multipliers);
    return fill_padding(depthwise_slack(s));
  }
  const size_t lane = kLaneBytes / kernels_.element_bytes, row = round_up(s.kernel_w, lane);
  const size_t channels = round_up(s.channels, block_), taps = s.kernel_h * row;
  weights_.resize(channels * taps * kernels_.element_bytes);
  bias_.resize(channels);
  multipliers_.resize(channels);
  columns_.resize(s.kernel_h * depthwise_columns(s, lane).places * block_);
  for (size_t c = 0; c < s.channels; ++c) {
    uint32_t bias = static_cast<uint32_t>(layer.bias[c]);
    for (size_t i = 0; i < s.taps(); ++i) {
      const int8_t weight = layer.weights[i * s.channels + c];
      const size_t t = i / s.kernel_w * row + i % s.kernel_w;
      put((c / block_ * taps + t / lane * lane) * block_ + c % block_ * lane + t % lane, weight);
      bias -= static_cast<uint32_t>((move_ + zero_in_) * weight);
    }
    bias_[c] = static_cast<int32_t>(bias);
    multipliers_[c] = layer.multipliers[c];
  }
}

void PreparedLayer::move_image(const int8_t* x) {
  const Conv2dShape& s = shape_;
  const size_t count = s.width * s.channels, bytes = kernels_.element_bytes;
  uint8_t* row = image_.data() + (s.pad_top * s.padded_w() + s.pad_left) * s.channels * bytes;
  if (s.padded_w() == s.width) return kernels_.move_elements(s.height * count, x, move_, row);
  for (size_t i = 0; i < s.height; ++i, x += count, row += s.padded_w() * s.channels * bytes) {
    kernels_.move_elements(count, x, move_, row);
  }
}

void PreparedLayer::run_groups(const int8_t* x, int8_t* y) {
  move_image(x);
  const size_t block = shape_.filters / shape_.groups, depth = shape_.channels / shape_.groups;
  const size_t group_bytes = block_ * segments_.size() * segment_bytes_;
  for (size_t g = 0; g < shape_.groups; ++g) {
    kernels_.convolve({.image = image_.data() + g * depth * kernels_.element_bytes,
                       .pixels = pixels_.data(),
                       .segments = segments_.data(),
                       .lanes = lanes_.data(),
                       .pixel_count = pixels_.size(),
                       .segment_count = segments_.size(),
                       .segment_bytes = segment_bytes_,
                       .lane_count = lanes_.size(),
                       .weights = weights_.data() + g * group_bytes,
                       .bias = bias_.data() + g * block_,
                       .multipliers = multipliers_.data() + g * block_,
                       .to = to_,
                       .outputs = block,
                       .y = y + g * block,
                       .y_stride = shape_.filters});
  }
}

void PreparedLayer::run_depthwise(const int8_t* x, int8_t* y) {
  const Conv2dShape& s = shape_;
  const size_t bytes = weights_.size() / bias_.size();  // of a channel
  for (size_t c = 0; c < s.channels; c += block_) {
    const DepthwiseTask task{.shape = &shape_,
                             .x = x + c,
                             .columns = columns_.data(),
                             .weights = weights_.data() + c * bytes,
                             .bias = bias_.data() + c,
                             .multipliers = multipliers_.data() + c,
                             .move = move_,
                             .zero = zero_in_,
                             .to = to_,
                             .channels = std::min(block_, s.channels - c),
                             .y = y + c};
    kernels_.depthwise(task);
  }
}

void PreparedLayer::run_depthwise_rows(const int8_t* x, int8_t* y) {
  move_image(x);
  const size_t blocks = depthwise_blocks(shape_), channels = bias_.size() / blocks;
  for (size_t b = 0; b < blocks; ++b) {
    DepthwiseRowsTask task = depthwise_block(shape_, b);
    task.shape = &shape_;
    task.image = image_.data() + b * channels;
    task.weights = weights_.data() + b * (weights_.size() / blocks);
    task.bias = bias_.data() + b * channels;
    task.multipliers = multipliers_.data() + b * channels;
    task.to = to_;
    task.y = y + b * channels;
    kernels_.depthwise_rows(task);
  }
}

void PreparedLayer::run(const int8_t* x, int8_t* y) {
  for (size_t b = 0; b < shape_.batch; ++b) {
    if (is_depthwise() && kernels_.depthwise_rows != nullptr) run_depthwise_rows(x, y);
    else if (is_depthwise()) run_depthwise(x, y);
    else run_groups(x, y);
    x += shape_.height * shape_.width * shape_.channels;
    y += shape_.out_h() * shape_.out_w() * shape_.filters;
  }
}

}  // namespace coterie::kernels::int8
