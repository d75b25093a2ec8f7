// CompressionSettings: an update in fewer bytes, the job key update.compression (compression_rules.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "proto/messages/top_k.h"

namespace coterie {

enum class CompressionKind : uint8_t {
  quantized,  // each value, on a grid that all devices of a round share: with masks and without
  top_k,      // the largest values alone
  eden        // each value, on a grid of the update's own
};
std::string_view to_string(CompressionKind kind);
// In the order of the enumerators.
std::span<const std::string_view> compression_names();
std::optional<CompressionKind> compression_from(std::string_view name);

struct CompressionSettings {
  CompressionKind kind = CompressionKind::quantized;
  uint32_t bits = 0;           // of a value that is sent; 0: updates are not compressed
  bool rotate = true;          // quantized: without, the grid is +-update.value_abs_max
  double share = 0.1;          // top_k: of an update's values
  bool error_feedback = true;  // top_k: devices keep what they have not sent, and add it to their next update
  bool is_on() const { return bits > 0; }
  bool keeps_residual() const { return is_on() && kind == CompressionKind::top_k && error_feedback; }
  friend bool operator==(const CompressionSettings&, const CompressionSettings&) = default;
};

// Where the job does not say bits; 0: it has to.
inline uint32_t default_bits(CompressionKind kind) { return kind == CompressionKind::top_k ? kTopKFloatBits : 0; }

// A share of top_k below it makes updates that are bytes, and learn nothing.
inline constexpr double kTopKShareMin = 0.001;

}  // namespace coterie
