#include "tools/simulate/resting_devices.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RestingDevices, AreThoseThatTheLastRoundsHaveCounted) {
  RestingDevices resting(3);
  EXPECT_THAT(resting.devices(), IsEmpty());
  resting.add({4, 7});
  EXPECT_THAT(resting.devices(), ElementsAre(4, 7));
  resting.add({1, 5});
  EXPECT_THAT(resting.devices(), ElementsAre(1, 4, 5, 7));
  resting.add({9});
  EXPECT_THAT(resting.devices(), ElementsAre(1, 5, 9)) << "round 1's are drawn in round 4 again";
  resting.add({});
  EXPECT_THAT(resting.devices(), ElementsAre(9));
}

TEST(RestingDevices, AreNoneWhereTheJobSaysNothing) {
  for (const uint32_t separation_min : {0u, 1u}) {
    RestingDevices resting(separation_min);
    resting.add({1, 2});
    EXPECT_THAT(resting.devices(), IsEmpty()) << separation_min;
  }
}

}  // namespace
}  // namespace coterie
