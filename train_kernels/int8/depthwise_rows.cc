#include "train_kernels/int8/depthwise_rows.h"

#include <algorithm>

#include "base/checked.h"

namespace coterie::kernels::int8 {
namespace {

constexpr size_t kBlockChannels = kQuarters * kQuarterChannels, kRowsOfLane = kLaneBytes;

Quarters quarters_at(const std::array<size_t, kQuarters>& at) {
  constexpr size_t k = kQuarterChannels;
  if (at == std::array{size_t{0}, k, 2 * k, 3 * k}) return Quarters::together;
  if (at == std::array{size_t{0}, 2 * k, 4 * k, 6 * k}) return Quarters::every_second;
  return at[1] == k && at[3] == at[2] + k ? Quarters::in_pairs : Quarters::apart;
}

size_t pixels_at_once(const Conv2dShape& s) {
  const size_t of_vector = s.channels <= kQuarterChannels ? 4 : s.channels <= 2 * kQuarterChannels ? 2 : 1;
  // Not more than a row has: their strides lie within the image.
  return s.out_w() >= of_vector ? of_vector : 1;
}

}  // namespace

size_t depthwise_blocks(const Conv2dShape& s) {
  return pixels_at_once(s) > 1 ? 1 : round_up(s.channels, kBlockChannels) / kBlockChannels;
}

DepthwiseRowsTask depthwise_block(const Conv2dShape& s, size_t block) {
  DepthwiseRowsTask task{};
  task.pixels = pixels_at_once(s);
  task.is_whole = true;
  const size_t of_pixel = kQuarters / task.pixels;
  for (size_t q = 0; q < kQuarters; ++q) {
    const size_t pixel = q / of_pixel, channel = q % of_pixel * kQuarterChannels;
    const size_t left = s.channels - std::min(s.channels, block * kBlockChannels + channel);
    task.channels[q] = std::min(left, kQuarterChannels);
    task.at[q] = pixel * s.stride_w * s.channels + channel;
    task.y_at[q] = pixel * s.channels + channel;
    task.is_whole = task.is_whole && left >= kQuarterChannels && task.y_at[q] == q * kQuarterChannels;
  }
  task.quarters = quarters_at(task.at);
  return task;
}

size_t depthwise_slack(const Conv2dShape& s) {
  return (pixels_at_once(s) - 1) * s.stride_w * s.channels + 2 * kBlockChannels;
}

DepthwiseRows pack_depthwise_rows(const Conv2dShape& s, const Weighted& layer, int taken) {
  const size_t blocks = depthwise_blocks(s), lanes = round_up(s.kernel_h, kRowsOfLane) / kRowsOfLane;
  DepthwiseRows packed;
  packed.weights.resize(blocks * lanes * s.kernel_w * kBlockChannels * kRowsOfLane);
  packed.bias.resize(blocks * kBlockChannels);
  packed.multipliers.resize(packed.bias.size());
  for (size_t block = 0; block < blocks; ++block) {
    const DepthwiseRowsTask task = depthwise_block(s, block);
    for (size_t i = 0; i < kBlockChannels; ++i) {
      const size_t quarter = i / kQuarterChannels, channel = i % kQuarterChannels;
      if (channel >= task.channels[quarter]) continue;
      const size_t c = block * kBlockChannels + quarter % (kQuarters / task.pixels) * kQuarterChannels + channel;
      // Channel 4 i + k of quarter q is lane 4 q + k of vector i.
      const size_t at = channel / 4 * kBlockChannels / 4 + quarter * 4 + channel % 4;
      uint32_t bias = static_cast<uint32_t>(layer.bias[c]);
      for (size_t kh = 0; kh < s.kernel_h; ++kh) {
        for (size_t kw = 0; kw < s.kernel_w; ++kw) {
          const int8_t weight = layer.weights[(kh * s.kernel_w + kw) * s.channels + c];
          const size_t tap = (block * lanes + kh / kRowsOfLane) * s.kernel_w + kw;
          packed.weights[(tap * kBlockChannels + at) * kRowsOfLane + kh % kRowsOfLane] = static_cast<uint8_t>(weight);
          bias -= static_cast<uint32_t>(taken * weight);
        }
      }
      packed.bias[block * kBlockChannels + at] = static_cast<int32_t>(bias);
      packed.multipliers[block * kBlockChannels + at] = layer.multipliers[c];
    }
  }
  return packed;
}

}  // namespace coterie::kernels::int8
