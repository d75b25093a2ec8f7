#include "scheduler/job/compression_rules.h"

#include <string>

#include "proto/messages/quantized_lanes.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

Problems compression_problems(const HorizontalSettings& settings) {
  const CompressionSettings& compression = settings.update.compression;
  Problems problems;
  if (!compression.is_on()) return problems;
  SettingsChecker check(problems);
  check.in_range<uint32_t>(compression.bits, 1, kQuantizedBitsMax, "/update/compression/bits");
  check.require(settings.update.clip_l2 > 0, "/update/clip_l2",
                "must be > 0 with update.compression: its grid is made for updates of that norm. Take what the norm of "
                "most updates is below; too low slows learning down, ten times too high costs three bits a value");
  const auto refuse = [&](bool is_there, std::string_view with, std::string_view reason) {
    check.require(!is_there, "/update/compression",
                  "does not go with " + std::string(with) + ": " + std::string(reason));
  };
  const bool is_dp = settings.privacy.level == SecurityLevel::active_dp;
  refuse(is_dp, "privacy.level active_dp",
         "devices encode updates in few bits there already, by a grid that the noise and its account are made for");
  refuse(!is_dp && settings.privacy.has_noise(), "privacy.noise_multiplier",
         "the noise of the server is made for updates that are not rounded");
  refuse(settings.strategy.statistics == Statistics::pooled, "strategy.statistics pooled",
         "running statistics are no step along a gradient, and no clip fits them");
  refuse(settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
         "it needs single updates as they were, and of rounded ones the mean alone is true; take mean");
  if (!problems.empty()) return problems;
  if (const Status fits = validate(quantization_of(settings)); !fits) {
    check.require(false, "/update/compression/bits", fits.error().message() + "; take fewer, or fewer devices a round");
  }
  return problems;
}

QuantizationRules quantization_of(const HorizontalSettings& settings) {
  const CompressionSettings& compression = settings.update.compression;
  if (!compression.is_on()) return {};
  const bool is_masked = settings.privacy.level != SecurityLevel::none;
  return {.bits = compression.bits,
          .rotated = compression.rotate,
          .contributors_max = is_masked ? cohort_count(settings) * cohort_goal(settings) : 0};
}

}  // namespace coterie
