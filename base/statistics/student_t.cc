#include "base/statistics/student_t.h"

#include <iterator>

#include "base/assert.h"

namespace coterie {

double student_t(size_t degrees) {
  COT_ASSERT(degrees >= 1);
  // Any table of the distribution has these.
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= std::size(kQuantiles)) return kQuantiles[degrees - 1];
  // Its expansion in 1 / degrees (Abramowitz and Stegun 26.7.5), within .0002 from 31 on.
  constexpr double z = 1.959964;
  const double inverse = 1 / static_cast<double>(degrees);
  return z + (z * z * z + z) / 4 * inverse + (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / 96 * inverse * inverse;
}

}  // namespace coterie
