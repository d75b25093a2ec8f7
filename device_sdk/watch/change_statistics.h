// How far values moved since before: one pass over both, in double. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

struct ChangeStatistics {
  uint64_t count = 0;
  double magnitude_sum = 0;  // of |now - before|
  double before_sum = 0;     // of |before|
  double square_sum = 0;     // of (now - before)^2

  // mean|now - before| / (mean|before| + 1e-9): the debugger's ratio of an update.
  double ratio() const;
};

// As many values in each; NaN where one of them is.
ChangeStatistics change_of(std::span<const float> now, std::span<const float> before);

// Whether |now - before| <= absolute + relative |before| everywhere; false where a NaN is.
bool is_close(std::span<const float> now, std::span<const float> before, double relative, double absolute);

}  // namespace coterie
