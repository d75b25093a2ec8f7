// What HitterRules mean: a prefix tree over strings, of which a round counts one level.
//
// A string lies in an example as numbers: its bytes, one a number, and 0 behind the last where there is room. It counts
// for the prefix that it begins with, under the byte that follows, or under the end:
//
//   lanes     of each prefix in turn, up to prefixes_max: each byte of the alphabet | the string ends here
//
// Prefixes have one length, so that a string begins with one of them at most: an example is in one lane, or in none.
// It is in none if it is empty, if what follows is no byte of the alphabet, or if a number of it is no byte.
//
// A device takes the prefixes for what a stranger says: they are bounded, of the alphabet, and each is there once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/problem.h"
#include "proto/messages/analytics.h"

namespace coterie {

inline constexpr uint32_t kHitterLengthMax = 64;
inline constexpr uint32_t kHitterPrefixesMax = 1'024;
inline constexpr uint64_t kHitterLanesMax = 1u << 16;          // of a round
inline constexpr uint64_t kHitterPrefixBytesMax = 32 * 1'024;  // of all prefixes of a plan, which has 64 KiB
inline constexpr uint32_t kHitterAlphabetMax = 255;            // bytes; 0 is the end

// What is wrong with them, under JSON pointers within `analytics`. Nothing without them.
Problems hitter_problems(const AnalyticsRules& rules);

// ---- The rules are valid from here on

uint32_t symbol_count(const HitterRules& rules);                 // bytes of the alphabet
uint8_t symbol_at(const HitterRules& rules, uint32_t position);  // below symbol_count
uint64_t hitter_lane_count(const HitterRules& rules);

// Where the bytes behind a prefix begin, and the lane of its end, by the place of the prefix among them.
uint64_t first_lane(const HitterRules& rules, uint64_t prefix);
uint64_t end_lane(const HitterRules& rules, uint64_t prefix);

// The string of an example. `numbers` has length_max of them. None: a number is no byte.
std::optional<std::string> string_of(const HitterRules& rules, std::span<const float> numbers);

// The lane of a string; none: it counts nowhere.
std::optional<uint64_t> hitter_lane(const HitterRules& rules, const std::string& text);

}  // namespace coterie
