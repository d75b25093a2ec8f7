// EarlyStopping: a training looks at examples that it does not train on, and ends where they stop gaining.
#pragma once

#include <cstdint>

namespace coterie {

inline constexpr float kValidationShareMax = 0.5f;  // above 0
inline constexpr uint32_t kPatienceMax = 1'000;     // at least 1

// This share of a device's own examples, rounded down, is held out: the loss of them is looked at behind each epoch.
// After so many epochs in a row in which it was not lower than the lowest before, training ends; what is kept is the
// model of the lowest (device_sdk/runtime/validation.h).
struct EarlyStopping {
  float validation_share = 0.1f;
  uint32_t patience = 1;
  friend bool operator==(const EarlyStopping&, const EarlyStopping&) = default;
};

}  // namespace coterie
