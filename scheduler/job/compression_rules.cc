#include "scheduler/job/compression_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "proto/messages/quantized_lanes.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"quantized", "top_k", "eden"};

void check_bits(const CompressionSettings& compression, SettingsChecker& check) {
  const std::string key = "/update/compression/bits";
  switch (compression.kind) {
    case CompressionKind::quantized: return check.in_range<uint32_t>(compression.bits, 1, kQuantizedBitsMax, key);
    case CompressionKind::eden: return check.in_range<uint32_t>(compression.bits, 1, kEdenBitsMax, key);
    case CompressionKind::top_k:
      check.require(is_top_k_bits(compression.bits), key,
                    "must be 32 (values as float32) or in [2, 16] with top_k, is " + std::to_string(compression.bits));
  }
}

// Settings of another kind say nothing, and whoever gives them expects something.
void check_kind(const CompressionSettings& compression, SettingsChecker& check) {
  const CompressionSettings defaults;
  const std::string name(to_string(compression.kind)), base = "/update/compression/";
  if (compression.kind != CompressionKind::quantized) {
    check.require(compression.rotate == defaults.rotate, base + "rotate",
                  "must be absent with " + name +
                      (compression.kind == CompressionKind::eden ? ": it always rotates" : ": it rotates nothing"));
  }
  if (compression.kind == CompressionKind::top_k) {
    check.in_range<double>(compression.share, kTopKShareMin, 1, base + "share");
    return;
  }
  check.require(compression.share == defaults.share, base + "share",
                "must be absent with " + name + ": it is of top_k");
  check.require(compression.error_feedback == defaults.error_feedback, base + "error_feedback",
                "must be absent with " + name + ": its error has no bias that a device would have to make good");
}

// What the server has to see, and what a device carries over.
void check_single(const HorizontalSettings& settings, SettingsChecker& check) {
  const CompressionSettings& compression = settings.update.compression;
  const bool is_top_k = compression.kind == CompressionKind::top_k;
  const std::string level(to_string(settings.privacy.level));
  check.require(settings.privacy.level == SecurityLevel::none, "/update/compression",
                std::string(to_string(compression.kind)) + " does not go with privacy.level " + level + ": " +
                    (is_top_k ? "devices send other values each, so that masks of one would not meet those of the "
                                "others, and which they send would tell what they have"
                              : "each update has a scale and a rotation of its own, which no masked sum can apply") +
                    "; take kind quantized, or level none");
  if (!compression.keeps_residual()) return;
  check.require(!settings.training.personal, "/training/personal",
                "must be absent with error feedback: a device keeps one vector of a job, and that one is what it "
                "carries over");
  check.require(settings.update.clip_l2 == 0, "/update/clip_l2",
                "must be 0 with error feedback: a clip would cut what a device carries over again in each round, and "
                "would bound no round's examples; take the clip out, or error_feedback false");
}

}  // namespace

std::string_view to_string(CompressionKind kind) { return kNames[static_cast<size_t>(kind)]; }
std::span<const std::string_view> compression_names() { return kNames; }

std::optional<CompressionKind> compression_from(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<CompressionKind>(found - kNames.begin());
}

Problems compression_problems(const HorizontalSettings& settings) {
  const CompressionSettings& compression = settings.update.compression;
  Problems problems;
  if (!compression.is_on()) return problems;
  const bool is_quantized = compression.kind == CompressionKind::quantized;
  SettingsChecker check(problems);
  check_bits(compression, check);
  check_kind(compression, check);
  check.require(!is_quantized || settings.update.clip_l2 > 0, "/update/clip_l2",
                "must be > 0 with update.compression: its grid is made for updates of that norm. Take what the norm of "
                "most updates is below; too low slows learning down, ten times too high costs three bits a value");
  const auto refuse = [&](bool is_there, std::string_view with, std::string_view reason) {
    check.require(!is_there, "/update/compression",
                  "does not go with " + std::string(with) + ": " + std::string(reason));
  };
  const bool is_dp = settings.privacy.level == SecurityLevel::active_dp;
  refuse(is_dp && is_quantized, "privacy.level active_dp",
         "devices encode updates in few bits there already, by a grid that the noise and its account are made for");
  refuse(!is_dp && settings.privacy.has_noise(), "privacy.noise_multiplier",
         is_quantized ? "the noise of the server is made for updates that are not rounded"
         : compression.keeps_residual()
             ? "what a device carries over is of all its rounds, and no bound holds for what one round tells of it"
             : "the noise of the server is made for updates that are sent as they are clipped");
  refuse(settings.strategy.statistics == Statistics::pooled, "strategy.statistics pooled",
         "running statistics are no step along a gradient, and no clip fits them");
  refuse(settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
         "it needs single updates as they were, and of rounded ones the mean alone is true; take mean");
  if (!is_quantized) check_single(settings, check);
  if (!problems.empty() || !is_quantized) return problems;
  if (const Status fits = validate(quantization_of(settings)); !fits) {
    check.require(false, "/update/compression/bits", fits.error().message() + "; take fewer, or fewer devices a round");
  }
  return problems;
}

Problems compression_problems(const HorizontalSettings& settings, uint64_t value_count) {
  const CompressionSettings& compression = settings.update.compression;
  if (!compression.is_on() || compression.kind != CompressionKind::eden || value_count >= kEdenValuesMin) return {};
  return {{"/update/compression", "eden needs updates of " + std::to_string(kEdenValuesMin) +
                                      " values at least, those of this model have " + std::to_string(value_count) +
                                      ": so few do not round fairly, and are small as they are; take the compression "
                                      "out"}};
}

QuantizationRules quantization_of(const HorizontalSettings& settings) {
  const CompressionSettings& compression = settings.update.compression;
  if (!compression.is_on() || compression.kind == CompressionKind::top_k) return {};
  if (compression.kind == CompressionKind::eden) return {.bits = compression.bits};
  const bool is_masked = settings.privacy.level != SecurityLevel::none;
  return {.bits = compression.bits,
          .rotated = compression.rotate,
          .contributors_max = is_masked ? cohort_count(settings) * cohort_goal(settings) : 0};
}

TopKRules top_k_of(const HorizontalSettings& settings, uint64_t value_count) {
  const CompressionSettings& compression = settings.update.compression;
  if (!compression.is_on() || compression.kind != CompressionKind::top_k) return {};
  const auto wanted = static_cast<uint64_t>(std::ceil(compression.share * static_cast<double>(value_count)));
  return {.sent_count = std::clamp<uint64_t>(wanted, 1, value_count),
          .bits = compression.bits,
          .has_error_feedback = compression.error_feedback};
}

UpdateEncoding encoding_of(const CompressionSettings& compression) {
  switch (compression.kind) {
    case CompressionKind::quantized: return UpdateEncoding::quantized;
    case CompressionKind::top_k: return UpdateEncoding::top_k;
    case CompressionKind::eden: return UpdateEncoding::eden;
  }
  return UpdateEncoding::float32;
}

}  // namespace coterie
