// StalenessRules: whether a later round may count an update than it was trained for (ADR 114), and as what.
#pragma once

#include <cstdint>

namespace coterie {

inline constexpr uint32_t kStalenessMax = 1000;

struct StalenessRules {
  uint32_t versions_max =
      0;               // between the model that was trained from and the counting round's; 0: its own round alone
  float exponent = 0;  // in [0, 10]
  bool has_later_rounds() const { return versions_max > 0; }
  friend bool operator==(const StalenessRules&, const StalenessRules&) = default;
};

// What a device multiplies its update with before anybody sees it: (1 + versions) ^ -exponent.
float staleness_weight(uint64_t versions, const StalenessRules& rules);

}  // namespace coterie
