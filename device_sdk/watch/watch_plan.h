// WatchPlan: which checks a training is watched by, with their settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/watch/check.h"

namespace coterie {

inline constexpr uint32_t kWatchedChecksMax = 64;
inline constexpr uint32_t kWatchHitsMax = 10'000;
inline constexpr uint32_t kWatchEveryMax = 1'000'000;

struct WatchedCheck {
  const Check* check = nullptr;
  std::vector<std::optional<double>> values;  // of check->settings, in that order
  // For which tensors it is. Patterns are those of name_pattern.h.
  std::string tensors = "*";  // their names; of an op's output the op's name, too
  std::string op;             // kind of the op that makes or first reads them: "tanh"; empty: any
  uint64_t from_step = 0;     // steps in front of it are not looked at
  uint64_t steps = 0;         // for how many steps it must hold, at each look; 0: one look is enough

  explicit WatchedCheck(const Check& of) : check(&of), values(standard_values(of)), steps(of.steps) {}
  void set(std::string_view setting, double value) { values[setting_index(*check, setting)] = value; }
};

struct WatchPlan {
  uint32_t every = 1;       // tensors are looked at in the steps first, first + every, first + 2 every, ...
  uint32_t hits_max = 100;  // kept; those beyond are counted
  std::vector<WatchedCheck> checks;
  // Patterns of parameters that are zero at first by design (the second factor of LoRA): checks of the weights before
  // the first step leave them out.
  std::vector<std::string> zero_at_first = {};
  uint32_t first = 0;  // below every
};

// What fires on no healthy training that we know, but one: where the first epoch learns all that there is, the loss
// does not fall behind it. coterie-bench-watch says what it costs.
WatchPlan recommended_watch();

}  // namespace coterie
