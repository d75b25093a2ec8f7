#include "fl_server/core/phase_patience.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

// 13 devices, of which 2 are planned to vanish, and 9 open a secret.
constexpr PhasePatience kPatience{.planned = 11, .least = 9, .min = Millis(50)};

TEST(PhasePatience, IsAsLongAgainWhileOnlyThePlannedAreMissing) {
  EXPECT_EQ(kPatience.after(11, Millis(400)), Millis(400));
  EXPECT_EQ(kPatience.after(12, Millis(500)), Millis(500));
  EXPECT_EQ(kPatience.after(11, Millis(3)), Millis(50)) << "but never less than the least";
}

TEST(PhasePatience, IsFiveTimesWhileMoreAreMissing) {
  EXPECT_EQ(kPatience.after(9, Millis(400)), Millis(2'000));
  EXPECT_EQ(kPatience.after(10, Millis(3)), Millis(250));
}

TEST(PhasePatience, HasNoEndWhileTheSessionCannotDoWithoutThoseWhoAreMissing) {
  EXPECT_EQ(kPatience.after(8, Millis(400)), std::nullopt);
  EXPECT_EQ(kPatience.after(0, Millis(0)), std::nullopt);
  EXPECT_EQ((PhasePatience{.planned = 0, .least = 0, .min = Millis(1)}).after(0, Millis(9)), std::nullopt)
      << "nobody has answered: nothing is known of how long it takes";
}

}  // namespace
}  // namespace coterie
