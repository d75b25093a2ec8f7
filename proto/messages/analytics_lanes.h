// What AnalyticsRules mean: the lanes of the table, in which of them an example counts, how far one device moves it.
//
// A device looks at `values_max` of its examples at most, drawn at random where it has more. The value of each names a
// lane of the table, to which the device adds 1, at most `lane_max` in all to one lane. So one device changes the sum
// of all tables by a vector of integers whose norm is known before anybody looks: l2_sensitivity.
//
// Lanes, in this order:
//
//   histogram of a number     below edges[0]; from edges[i] to below edges[i + 1]; edges.back() and above; missing
//   histogram of categories   each category; none of them
//   distinct                  `buckets` of a hash of the value (distinct_bucket): lane_max is 1
//   evaluation                evaluation_lanes.h
//   heavy hitters             hitter_lanes.h
//   activation ranges         range_lanes.h
//
// A number is missing if it is NaN, or if the value that `missing_feature` names is not 0: what stands in its place
// then was put there by whoever encoded it. What is missing is not counted by `distinct`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/problem.h"
#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

// In the enums' order, from 1.
std::span<const std::string_view> analytics_kind_names();
std::span<const std::string_view> analytics_source_names();
std::string_view to_string(AnalyticsKind kind);
std::string_view to_string(AnalyticsSource source);

inline constexpr uint32_t kInputValuesMax = 1u << 24;  // of an example
inline constexpr size_t kHistogramEdgesMax = 2'048;    // at least 2
inline constexpr uint32_t kHistogramCategoriesMax = 4'096;
inline constexpr uint32_t kDistinctBucketsMin = 16, kDistinctBucketsMax = 1u << 16;
inline constexpr uint32_t kAnalyticsValuesMax = 1u << 16;  // of one device in a round
// Counts up to here are exact in the float32 that tables have.
inline constexpr uint64_t kTableCountMax = 1ull << 24;

// All that is wrong with them, each under its JSON pointer within the job's `analytics`.
Problems problems_of(const AnalyticsRules& rules);
// invalid_argument with the first of these.
Status validate(const AnalyticsRules& rules);

// The table's size. The rules are valid, as below.
uint64_t lane_count(const AnalyticsRules& rules);

// The lane of one example. `input` has input_values numbers; `target` is its target, or its class as the bytes of an
// int32 (example_source.h). None: it is not counted. Not of a kind that runs models.
std::optional<uint64_t> lane_of(const AnalyticsRules& rules, std::span<const float> input, float target);

// The category of one example, with categories; as many as there are: it is of none.
uint64_t category_of(const AnalyticsRules& rules, std::span<const float> input, float target);

// The lane of a value whose bits are these: SplitMix64's finalizer, the upper bits of it times buckets. It hides
// nothing, and is the same on every device.
uint64_t distinct_bucket(uint32_t value_bits, uint32_t buckets);

// The norm of the longest vector that one device may add.
double l2_sensitivity(const AnalyticsRules& rules);
// l2_sensitivity as a float that is not below it: what an update's clip must be, so that it never scales one.
float clip_of(const AnalyticsRules& rules);

}  // namespace coterie
