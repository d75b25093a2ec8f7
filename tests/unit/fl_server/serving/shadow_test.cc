#include "fl_server/serving/shadow.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace coterie {
namespace {

TEST(Shadow, CountsRowsWhoseLargestValueIsTheSame) {
  const std::vector<float> shown{0.1f, 0.9f, 0.5f, 0.4f}, shadow{0.2f, 0.8f, 0.4f, 0.5f};
  const ShadowComparison compared = compare_answers(shown, shadow, 2);
  EXPECT_EQ(compared.rows, 2u);
  EXPECT_EQ(compared.agreeing, 1u);
  EXPECT_NEAR(compared.difference_max, 0.1, 1e-6);
}

TEST(Shadow, SeesWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(compare_answers(std::vector<float>{1.0f, nan}, std::vector<float>{1.0f, 2.0f}, 2).difference_max,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(compare_answers({}, {}, 3).rows, 0u);
}

}  // namespace
}  // namespace coterie
