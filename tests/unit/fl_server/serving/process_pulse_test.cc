#include "fl_server/serving/process_pulse.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(ProcessPulse, MissesWhoDoesNotBeatForSoManyLooks) {
  ProcessPulse pulse(2, 3);
  for (uint64_t beat = 1; beat < 10; ++beat) {
    EXPECT_FALSE(pulse.look(0, beat)) << "one beats";
    EXPECT_EQ(pulse.look(1, 0), beat == 3) << "the other never has, and is missed once: look " << beat;
  }
}

TEST(ProcessPulse, ABeatOrANewProcessBeginsAnew) {
  ProcessPulse pulse(1, 3);
  EXPECT_FALSE(pulse.look(0, 7));
  EXPECT_FALSE(pulse.look(0, 7));
  EXPECT_FALSE(pulse.look(0, 7));
  EXPECT_FALSE(pulse.look(0, 8)) << "late, but alive";
  EXPECT_FALSE(pulse.look(0, 8));
  EXPECT_FALSE(pulse.look(0, 8));
  pulse.began(0);
  EXPECT_FALSE(pulse.look(0, 8));
  EXPECT_FALSE(pulse.look(0, 8));
  EXPECT_TRUE(pulse.look(0, 8));
}

}  // namespace
}  // namespace coterie
