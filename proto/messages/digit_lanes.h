// Whole numbers in lanes of a table: a number's digits to the base 64, the lowest first, each as a multiple of a unit.
// Sums of devices' digits are the sum of their numbers, exact while a digit's sum has the room that a count has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace coterie {

inline constexpr uint32_t kDigitBase = 64;

struct DigitRange {
  uint64_t first = 0;
  uint32_t count = 0;
};

// Digits of numbers up to `most`; at least 1.
uint32_t digits_for(uint64_t most);

// Precondition: the number has no more digits than there are lanes.
void put_digits(uint64_t number, float unit, std::span<float> lanes);
// What one device has put; none: a lane is no digit, or the number has more than 64 bits.
std::optional<uint64_t> digits_of_one(std::span<const float> lanes, float unit);
// The sum over the devices whose lanes these are the sum of.
double digits_of_all(std::span<const float> lanes, float unit);

// A lane in units; none: it is no whole number of them, from 0 to `most`.
std::optional<uint64_t> whole_units(float lane, float unit, uint64_t most);

}  // namespace coterie
