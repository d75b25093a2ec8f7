#include "proto/messages/perturbed_values.h"

#include <cmath>

#include "base/random.h"

namespace coterie {

void perturb(std::span<float> values, std::span<const ValueRange> parameters, double spread, uint64_t seed) {
  Prng prng(seed);
  for (const ValueRange& range : parameters) {
    const auto own = values.subspan(range.first, range.count);
    double squares = 0;
    for (const float value : own) squares += static_cast<double>(value) * static_cast<double>(value);
    const double deviation = spread * std::sqrt(squares / static_cast<double>(own.size()));
    for (float& value : own) {
      value =
          static_cast<float>((static_cast<double>(value) + deviation * prng.normal()) / std::sqrt(1 + spread * spread));
    }
  }
}

}  // namespace coterie
