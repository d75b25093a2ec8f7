#include "proto/messages/range_lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"

namespace coterie {
namespace {

constexpr int kMantissaBits = 23, kExponentBias = 127;
constexpr uint32_t kMagnitude = 0x7fff'ffff;

const RangeRules& own_of(const AnalyticsRules& rules) { return *rules.evaluation->ranges; }

Error wrong(const std::string& what) { return Error(ErrorCode::malformed, "update: no examples give " + what); }

void check_model(const AnalyticsRules& rules, Problems& problems) {
  const EvaluationRules& own = *rules.evaluation;
  if (own.models.size() != 1) problems.push_back({"/model", "must name the one model that devices run"});
  else if (own.models[0].bytes > kEvaluatedModelBytesMax) {
    problems.push_back({"/model_bytes", "must be at most 2^34"});
  }
  if (own.importance) problems.push_back({"/importance", "must be absent: it is of kind evaluation"});
  const bool has_column = rules.source != AnalyticsSource::feature || rules.feature != 0 || rules.categories != 0 ||
                          rules.missing_feature.has_value();
  if (has_column) problems.push_back({"/source", "must be absent: the model reads all of an example"});
}

void check_tensors(const RangeRules& own, Problems& problems) {
  if (own.tensors.empty() || own.tensors.size() > kRangeTensorsMax) {
    problems.push_back({"/tensors", "must be 1 to " + std::to_string(kRangeTensorsMax) + " names"});
    return;
  }
  const bool are_names = std::ranges::all_of(own.tensors, [](const std::string& name) {
    return !name.empty() && name.size() <= kRangeNameBytesMax && is_utf8(name);
  });
  if (!are_names) {
    problems.push_back({"/tensors", "must be names of 1 to " + std::to_string(kRangeNameBytesMax) + " bytes of UTF-8"});
    return;
  }
  if (std::set<std::string_view>(own.tensors.begin(), own.tensors.end()).size() != own.tensors.size()) {
    problems.push_back({"/tensors", "must name each tensor once"});
  }
}

}  // namespace

uint32_t magnitude_bins(const RangeRules& rules) {
  return static_cast<uint32_t>(rules.exponent_high - rules.exponent_low) * rules.steps;
}

std::optional<uint32_t> range_bin(const RangeRules& rules, float value) {
  if (!std::isfinite(value)) return std::nullopt;
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & kMagnitude;
  const int32_t exponent = static_cast<int32_t>(magnitude >> kMantissaBits) - kExponentBias;
  const uint32_t middle = magnitude_bins(rules);
  if (exponent < rules.exponent_low) return middle;
  uint32_t place = middle - 1;
  if (exponent < rules.exponent_high) {
    const int step_bits = std::countr_zero(rules.steps);
    const uint32_t step = (magnitude >> (kMantissaBits - step_bits)) & (rules.steps - 1);
    place = static_cast<uint32_t>(exponent - rules.exponent_low) * rules.steps + step;
  }
  return bits == magnitude ? middle + 1 + place : middle - 1 - place;
}

BinBounds range_bounds(const RangeRules& rules, uint32_t bin) {
  const uint32_t middle = magnitude_bins(rules);
  if (bin == middle) {
    const double least = std::ldexp(1, rules.exponent_low);
    return {-least, least};
  }
  const uint32_t place = bin > middle ? bin - middle - 1 : middle - 1 - bin;
  const int exponent = rules.exponent_low + static_cast<int>(place / rules.steps);
  const double step = place % rules.steps, steps = rules.steps;
  const double from = std::ldexp(1 + step / steps, exponent), to = std::ldexp(1 + (step + 1) / steps, exponent);
  return bin > middle ? BinBounds{from, to} : BinBounds{-to, -from};
}

uint64_t range_positions(const RangeRules& rules, uint64_t elements) {
  return std::min<uint64_t>(rules.positions, elements);
}

uint64_t range_position(const RangeRules& rules, uint64_t i, uint64_t elements) {
  const uint64_t count = range_positions(rules, elements);
  if (count == elements) return i;
  // elements is below 2^40 (limits.h of the runtime), i below 2^16.
  const uint64_t begin = i * elements / count, end = (i + 1) * elements / count;
  const auto length = static_cast<uint32_t>(std::min<uint64_t>(end - begin, UINT32_MAX));
  return begin + distinct_bucket(static_cast<uint32_t>(i), length);
}

void put_range(const RangeRules& rules, uint32_t lane_max, std::span<const uint64_t> counts, std::span<float> lanes) {
  COT_ASSERT(counts.size() == range_bins(rules) && lanes.size() == counts.size());
  uint64_t all = 0;
  for (const uint64_t count : counts) all += count;
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    if (!rules.is_normalised || all == 0) {
      lanes[bin] = static_cast<float>(counts[bin]);
      continue;
    }
    const double share = static_cast<double>(counts[bin]) / static_cast<double>(all);
    lanes[bin] = static_cast<float>(std::floor(lane_max * std::sqrt(share)));
  }
}

uint32_t range_lane_max(const RangeRules& rules, uint32_t values_max) {
  const uint64_t counted = uint64_t{values_max} * rules.positions;
  return rules.is_normalised ? kRangeUnits : static_cast<uint32_t>(std::min<uint64_t>(counted, UINT32_MAX));
}

uint64_t range_lane_count(const AnalyticsRules& rules) {
  return own_of(rules).tensors.size() * range_bins(own_of(rules));
}

double range_l2_sensitivity(const AnalyticsRules& rules) {
  return rules.lane_max * std::sqrt(static_cast<double>(own_of(rules).tensors.size()));
}

Status check_range_lanes(const AnalyticsRules& rules, std::span<const float> lanes) {
  const RangeRules& own = own_of(rules);
  const uint64_t most = rules.lane_max, bins = range_bins(own);
  for (size_t tensor = 0; tensor < own.tensors.size(); ++tensor) {
    uint64_t sum = 0;  // of squares, if they are normalised
    for (const float lane : lanes.subspan(tensor * bins, bins)) {
      const bool is_count = lane >= 0 && lane <= static_cast<float>(most) && lane == std::floor(lane);
      if (!is_count) return wrong("a lane of " + std::to_string(lane));
      const auto count = static_cast<uint64_t>(lane);
      sum += own.is_normalised ? count * count : count;
    }
    if (sum <= (own.is_normalised ? most * most : most)) continue;
    return wrong("so much of tensor number " + std::to_string(tensor + 1) + ", and lane_max is " +
                 std::to_string(most));
  }
  return {};
}

Problems range_problems(const AnalyticsRules& rules) {
  if (rules.kind != AnalyticsKind::activation_ranges) {
    const bool has_ranges = rules.evaluation && rules.evaluation->ranges;
    if (!has_ranges) return {};
    return {{"/tensors", "must be absent: they are of kind activation_ranges"}};
  }
  if (!rules.evaluation || !rules.evaluation->ranges) return {{"/tensors", "must name the tensors of the model"}};
  const RangeRules& own = own_of(rules);
  Problems problems;
  check_model(rules, problems);
  check_tensors(own, problems);
  const auto require = [&](bool condition, const char* pointer, const std::string& detail) {
    if (!condition) problems.push_back({pointer, detail});
  };
  const bool has_octaves = own.exponent_low >= -kRangeExponentMax && own.exponent_high <= kRangeExponentMax &&
                           own.exponent_low < own.exponent_high;
  require(has_octaves, "/exponent_low",
          "must be below exponent_high, both in [-" + std::to_string(kRangeExponentMax) + ", " +
              std::to_string(kRangeExponentMax) + "]");
  const bool has_steps = std::has_single_bit(own.steps) && own.steps <= kRangeStepsMax;
  require(has_steps, "/steps", "must be 1, 2, 4, 8 or " + std::to_string(kRangeStepsMax));
  const bool has_positions = own.positions >= 1 && own.positions <= kRangePositionsMax;
  require(has_positions, "/positions", "must be in [1, " + std::to_string(kRangePositionsMax) + "]");
  if (!problems.empty()) return problems;
  const uint64_t lanes = range_lane_count(rules), answers = uint64_t{rules.values_max} * own.tensors.size();
  require(lanes <= kRangeLanesMax, "/tensors",
          "must leave at most " + std::to_string(kRangeLanesMax) + " bins in all, are " + std::to_string(lanes));
  require(answers <= kRangeAnswersMax, "/tensors",
          "must leave values_max * tensors at most " + std::to_string(kRangeAnswersMax) + ", is " +
              std::to_string(answers));
  const uint64_t counted = uint64_t{rules.values_max} * own.positions;
  require(own.is_normalised || counted <= kTableCountMax, "/positions",
          "must leave values_max * positions at most " + std::to_string(kTableCountMax) + " where a table is not " +
              "normalised, is " + std::to_string(counted));
  require(own.is_normalised ? rules.lane_max >= 1 && rules.lane_max <= kRangePositionsMax : rules.lane_max == counted,
          "/lane_max",
          own.is_normalised ? "must be in [1, " + std::to_string(kRangePositionsMax) + "]"
                            : "must be values_max * positions where a table is not normalised");
  return problems;
}

}  // namespace coterie
