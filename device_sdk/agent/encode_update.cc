#include "device_sdk/agent/encode_update.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "proto/codec/codec.h"
#include "proto/codec/update/bit_packing.h"

namespace coterie {

uint32_t update_weight(uint64_t examples, const UpdateRules& rules) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(examples, 1, rules.fixed_point.weight_max));
}

namespace {

// The bits of a value without its sign: in the order of magnitudes, with what is not finite above all others.
int32_t magnitude_bits(float value) { return std::bit_cast<int32_t>(value) & INT32_MAX; }

// Without a branch a value.
int32_t largest_magnitude_bits(std::span<const float> values) {
  int32_t largest = 0;
  for (const float value : values) largest = std::max(largest, magnitude_bits(value));
  return largest;
}

// The sum in double: in float, a million small values are lost beside the first large ones.
double norm_of(std::span<const float> delta) {
  double squares = 0;
  for (float value : delta) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

void clip(std::span<float> delta, float clip_l2) {
  const double norm = norm_of(delta);
  if (norm <= static_cast<double>(clip_l2)) return;
  const auto factor = static_cast<float>(static_cast<double>(clip_l2) / norm);
  for (float& value : delta) value *= factor;
}

void clip_with_bit(std::span<float> delta, const UpdateRules& rules) {
  const std::span<float> values = delta.first(delta.size() - 1);
  const double norm = norm_of(values), clip_norm = rules.clip.clip_norm;
  const bool is_within = norm <= clip_norm;
  // One factor: with the round's clip first and its scale second, a float could overflow in between.
  const double factor = static_cast<double>(rules.clip_l2) / (is_within ? clip_norm : norm);
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
  delta.back() = is_within ? rules.clip.bit : -rules.clip.bit;
}

// Running statistics taken out of an update (0 stands in their place) and put back.
class SetAside {
 public:
  SetAside(std::span<const RunningStatistics> statistics, std::span<float> delta)
      : statistics_(statistics), delta_(delta) {
    for (const RunningStatistics& norm : statistics) {
      for (const uint64_t first : {norm.mean, norm.variance}) {
        const auto values = delta.subspan(first, norm.channels);
        aside_.insert(aside_.end(), values.begin(), values.end());
        std::ranges::fill(values, 0.0f);
      }
    }
  }
  void put_back() {
    auto next = aside_.begin();
    for (const RunningStatistics& norm : statistics_) {
      for (const uint64_t first : {norm.mean, norm.variance}) {
        const auto values = delta_.subspan(first, norm.channels);
        for (float& value : values) value = *next++;
      }
    }
  }

 private:
  std::span<const RunningStatistics> statistics_;
  std::span<float> delta_;
  std::vector<float> aside_;
};

}  // namespace

Status limit_update(std::span<float> update, const UpdateRules& rules, std::span<const RunningStatistics> statistics) {
  const std::span<float> delta = update.first(update.size() - rules.scalars.size());
  if (rules.has_clip_bit()) delta.back() = 0;
  const int32_t largest = largest_magnitude_bits(delta);
  if (largest >= magnitude_bits(std::numeric_limits<float>::infinity())) {
    return Error(ErrorCode::invalid_argument, "training: the update is not finite; training diverged");
  }
  const float bound = rules.fixed_point.value_abs_max;
  // A plan of before pooling has its statistics in the norm, and its server looks at all of it.
  if (rules.encoding != UpdateEncoding::float32_pooled) statistics = {};
  encode_statistics(statistics, bound, delta);
  // They are no step along a gradient: they neither use up the norm nor are scaled down with what does.
  SetAside aside(statistics, delta);
  if (rules.has_clip_bit()) clip_with_bit(delta, rules);
  else if (rules.clip_l2 > 0) clip(delta, rules.clip_l2);
  // Most updates are within the bound as they are, and need no more than to be looked at.
  const bool is_as_it_was = statistics.empty() && !rules.has_clip_bit() && rules.clip_l2 <= 0;
  if (!is_as_it_was || largest > magnitude_bits(bound)) {
    for (float& value : delta) value = std::clamp(value, -bound, bound);
  }
  aside.put_back();
  // Scalars are told in [0, bound]: what is no number becomes 0.
  for (float& value : update.subspan(delta.size())) value = value > 0 ? std::min(value, bound) : 0;
  return {};
}

Bytes encode_update(const UpdateHeader& header, std::span<const float> delta) {
  Bytes frame = encode_head(header);
  const auto* values = reinterpret_cast<const uint8_t*>(delta.data());
  frame.insert(frame.end(), values, values + delta.size_bytes());
  return frame;
}

Bytes encode_update(const UpdateHeader& header, std::span<const uint16_t> levels) {
  Bytes frame = encode_head(header);
  const size_t begin = frame.size();
  frame.resize(begin + packed_bytes(levels.size(), header.bits).value());
  pack_bits(levels, header.bits, std::span(frame).subspan(begin));
  return frame;
}

}  // namespace coterie
