#include "tools/simulate/counted_shares.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(CountedShares, AreByTheSpeedOfDevices) {
  CountedShares shares(8);
  const auto seconds_of = [](uint32_t device) { return 8.0 - device; };  // the last is the fastest
  EXPECT_EQ(shares.by_speed(seconds_of), (std::array<double, 4>{}));
  shares.add({7, 6, 0});
  shares.add({7});
  EXPECT_EQ(shares.devices(), 3u);
  EXPECT_EQ(shares.by_speed(seconds_of), (std::array<double, 4>{0.75, 0, 0, 0.25}));
}

}  // namespace
}  // namespace coterie
