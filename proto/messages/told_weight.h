// What of a sum is some device's.
#pragma once

namespace coterie {

// Whether a weight that a sum tells is of devices at all. A device weighs 1 at least. What is below half of that lies
// alone make, or the rounding of a mean; so is what is no number.
constexpr bool is_of_a_device(double weight) { return weight >= 0.5; }

}  // namespace coterie
