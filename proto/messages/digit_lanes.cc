#include "proto/messages/digit_lanes.h"

#include "base/assert.h"

namespace coterie {

uint32_t digits_for(uint64_t most) {
  uint32_t digits = 1;
  while (most >= kDigitBase) most /= kDigitBase, ++digits;
  return digits;
}

void put_digits(uint64_t number, float unit, std::span<float> lanes) {
  for (float& lane : lanes) {
    lane = static_cast<float>(number % kDigitBase) * unit;
    number /= kDigitBase;
  }
  COT_ASSERT(number == 0);
}

std::optional<uint64_t> digits_of_one(std::span<const float> lanes, float unit) {
  uint64_t number = 0;
  for (size_t digit = lanes.size(); digit-- > 0;) {
    const std::optional<uint64_t> value = whole_units(lanes[digit], unit, kDigitBase - 1);
    if (!value || number > (UINT64_MAX - *value) / kDigitBase) return std::nullopt;
    number = number * kDigitBase + *value;
  }
  return number;
}

double digits_of_all(std::span<const float> lanes, float unit) {
  double sum = 0;
  for (size_t digit = lanes.size(); digit-- > 0;) {
    sum = sum * kDigitBase + static_cast<double>(lanes[digit]) / static_cast<double>(unit);
  }
  return sum;
}

std::optional<uint64_t> whole_units(float lane, float unit, uint64_t most) {
  if (!(lane >= 0) || static_cast<double>(lane) > static_cast<double>(unit) * static_cast<double>(most)) return {};
  const auto number = static_cast<uint64_t>(lane / unit);
  return static_cast<float>(number) * unit == lane ? std::optional(number) : std::nullopt;
}

}  // namespace coterie
