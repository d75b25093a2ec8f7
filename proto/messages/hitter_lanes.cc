#include "proto/messages/hitter_lanes.h"

#include <algorithm>

namespace coterie {
namespace {

// Where a byte is in the alphabet; none: it is not.
std::optional<uint64_t> position_of(const HitterRules& rules, uint8_t byte) {
  if (rules.alphabet.empty()) return byte == 0 ? std::nullopt : std::optional<uint64_t>(byte - 1u);
  const auto found = std::ranges::lower_bound(rules.alphabet, byte);
  if (found == rules.alphabet.end() || *found != byte) return std::nullopt;
  return static_cast<uint64_t>(found - rules.alphabet.begin());
}

bool is_ascending(const auto& values) {
  return std::ranges::adjacent_find(values, [](const auto& a, const auto& b) { return !(a < b); }) == values.end();
}

bool is_alphabet(const std::vector<uint8_t>& bytes) {
  return bytes.size() <= kHitterAlphabetMax && is_ascending(bytes) && (bytes.empty() || bytes.front() != 0);
}

// The alphabet is one.
bool are_prefixes(const HitterRules& rules) {
  if (rules.prefixes.size() > rules.prefixes_max || !is_ascending(rules.prefixes)) return false;
  return std::ranges::all_of(rules.prefixes, [&](const std::string& prefix) {
    return prefix.size() == rules.length && std::ranges::all_of(prefix, [&](char byte) {
             return position_of(rules, static_cast<uint8_t>(byte)).has_value();
           });
  });
}

}  // namespace

Problems hitter_problems(const AnalyticsRules& rules) {
  Problems problems;
  const auto require = [&](bool holds, const char* pointer, std::string detail) {
    if (!holds) problems.push_back({pointer, std::move(detail)});
    return holds;
  };
  const bool is_meant = rules.kind == AnalyticsKind::heavy_hitters;
  if (!require(is_meant == rules.hitters.has_value(), "/kind", "must be heavy_hitters where strings are looked for")) {
    return problems;
  }
  if (!is_meant) return problems;
  const HitterRules& own = *rules.hitters;
  require(rules.source == AnalyticsSource::feature, "/source", "must be feature: a string is numbers of the input");
  require(rules.is_of_numbers(), "/categories", "must be absent: strings are of kind heavy_hitters");
  require(own.length_max >= 1 && own.length_max <= kHitterLengthMax, "/length_max",
          "must be in [1, " + std::to_string(kHitterLengthMax) + "]");
  if (!require(is_alphabet(own.alphabet), "/alphabet",
               "must be different bytes, ascending, without 0, at most " + std::to_string(kHitterAlphabetMax))) {
    return problems;
  }
  const bool has_prefixes = own.prefixes_max >= 1 && own.prefixes_max <= kHitterPrefixesMax;
  require(has_prefixes, "/prefixes_max", "must be in [1, " + std::to_string(kHitterPrefixesMax) + "]");
  if (!problems.empty()) return problems;
  const uint64_t lanes = hitter_lane_count(own);
  require(lanes <= kHitterLanesMax, "/prefixes_max",
          "must leave a round at most " + std::to_string(kHitterLanesMax) + " lanes: with " +
              std::to_string(symbol_count(own)) + " bytes in the alphabet there would be " + std::to_string(lanes));
  const uint64_t bytes = uint64_t{own.prefixes_max} * own.length_max;
  require(bytes <= kHitterPrefixBytesMax, "/prefixes_max",
          "must leave a plan at most " + std::to_string(kHitterPrefixBytesMax) +
              " bytes of prefixes: times length_max " + "there would be " + std::to_string(bytes));
  require(own.length < own.length_max, "/prefixes", "must be shorter than length_max: nothing follows a whole string");
  require(are_prefixes(own), "/prefixes",
          "must be at most prefixes_max, different and ascending, each of " + std::to_string(own.length) +
              " bytes of the alphabet");
  return problems;
}

uint32_t symbol_count(const HitterRules& rules) {
  return rules.alphabet.empty() ? kHitterAlphabetMax : static_cast<uint32_t>(rules.alphabet.size());
}

uint8_t symbol_at(const HitterRules& rules, uint32_t position) {
  return rules.alphabet.empty() ? static_cast<uint8_t>(position + 1) : rules.alphabet[position];
}

uint64_t hitter_lane_count(const HitterRules& rules) {
  return uint64_t{rules.prefixes_max} * (uint64_t{symbol_count(rules)} + 1);
}

uint64_t first_lane(const HitterRules& rules, uint64_t prefix) { return prefix * (uint64_t{symbol_count(rules)} + 1); }
uint64_t end_lane(const HitterRules& rules, uint64_t prefix) { return first_lane(rules, prefix + 1) - 1; }

std::optional<std::string> string_of(const HitterRules& rules, std::span<const float> numbers) {
  std::string text;
  for (const float number : numbers.first(rules.length_max)) {
    if (number == 0) break;
    if (!(number >= 1 && number <= 255)) return std::nullopt;
    const auto byte = static_cast<uint8_t>(number);
    if (static_cast<float>(byte) != number) return std::nullopt;
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

std::optional<uint64_t> hitter_lane(const HitterRules& rules, const std::string& text) {
  if (text.empty() || text.size() < rules.length) return std::nullopt;
  const std::string begin = text.substr(0, rules.length);
  const auto found = std::ranges::lower_bound(rules.prefixes, begin);
  if (found == rules.prefixes.end() || *found != begin) return std::nullopt;
  const auto prefix = static_cast<uint64_t>(found - rules.prefixes.begin());
  if (text.size() == rules.length) return end_lane(rules, prefix);
  const std::optional<uint64_t> next = position_of(rules, static_cast<uint8_t>(text[rules.length]));
  return next ? std::optional(first_lane(rules, prefix) + *next) : std::nullopt;
}

}  // namespace coterie
