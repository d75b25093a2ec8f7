// Cohorts side by side: who is placed where, what they come to together, and what is left of a round when one of them
// fails.
#include "fl_server/core/round_cohorts.h"

#include <gtest/gtest.h>

#include <set>

#include "secure/secagg/fault.h"
#include "tests/unit/fl_server/core/round_cohorts_fixture.h"

namespace coterie {
namespace {

using test::CohortDevice;
using test::kAdvertising;
using test::kPatience;
using test::kPhase;
using test::RoundCohortsTest;

TEST_F(RoundCohortsTest, AreFilledOneAfterTheOtherAndOpenedTogether) {
  begin(3, 14, 14, 15);  // 4, 5 and 5
  for (uint32_t i = 0; i < 14; ++i) {
    ASSERT_OK(advertise(i));
    ASSERT_OK(advertise(i));  // again, and to the same
  }
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{4, 5, 5}));
  EXPECT_FALSE(advertise(14)) << "there is no room for one more";
  mask_all(range(0, 4));
  EXPECT_FALSE(cohorts_->inputs_due()) << "others share yet";
  EXPECT_FALSE(cohorts_->updates_expected());
  mask_all(range(4, 14));
  EXPECT_EQ(cohorts_->updates_expected(), 14u);
  cohorts_->freeze(ids(range(0, 14)), now_);
  open_all(range(4, 14));
  EXPECT_FALSE(cohorts_->is_ready());
  open_all(range(0, 4));
  EXPECT_TRUE(cohorts_->is_ready());
  EXPECT_FALSE(cohorts_->failure());
  EXPECT_FALSE(cohorts_->next_deadline());
  std::set<Digest> names;
  for (const secagg::Server* session : cohorts_->sessions()) names.insert(session->session());
  EXPECT_EQ(names.size(), 3u) << "each is a session of its own";
}

TEST_F(RoundCohortsTest, SayHowManyUpdatesAreDueOnceAllKnow) {
  begin(2, 8, 8, 8);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  const uint32_t before = cohorts_->progress();
  for (const uint32_t i : range(0, 8)) share(i);
  EXPECT_GT(cohorts_->progress(), before);
  EXPECT_EQ(cohorts_->inputs_due(), 8u);
}

TEST_F(RoundCohortsTest, ADeviceSpeaksToItsOwnCohortAlone) {
  begin(2, 8, 8, 8);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  const auto of_first = devices_[0].client->share(asked<RosterView>(devices_[0], CohortQuestion::roster));
  ASSERT_OK(of_first);
  EXPECT_FALSE(send(devices_[5], *of_first)) << "shares of another session";
  EXPECT_EQ(send(devices_[0], *of_first).has_value(), true);
  CohortDevice stranger = test::cohort_device(parameters_, 100);
  EXPECT_EQ(cohorts_->ask(stranger.id, CohortQuestion::roster, now_).error().code(), ErrorCode::round_closed);
  EXPECT_EQ(cohorts_->input_arrived(stranger.id, MaskedInput{}, now_).error().code(), ErrorCode::round_closed);
}

TEST_F(RoundCohortsTest, EnoughDevicesGoOnSoonThoughTheLastCohortIsNotFull) {
  begin(3, 15, 13, 13);
  for (uint32_t i = 0; i < 12; ++i) {
    ASSERT_OK(advertise(i));
    pass(Millis(10));
  }
  EXPECT_EQ(cohorts_->next_deadline(), Instant(Millis(5'040)) + kPhase)
      << "the first cohort shares since its fifth advert";
  ASSERT_OK(advertise(12));
  pass(Millis(119));  // as long again as all these took
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{5, 5, 3}));
  EXPECT_EQ(cohorts_->sessions()[2]->phase(), CohortMachine::Phase::advertising);
  pass(Millis(1));
  EXPECT_EQ(cohorts_->sessions()[2]->phase(), CohortMachine::Phase::sharing);
}

// Two are the least of a buffered round, and three of a sum.
TEST_F(RoundCohortsTest, ARosterStaysOpenForTheLeastThatTheRoundNeeds) {
  begin(1, 8, 8, 3, 2);
  for (uint32_t i = 0; i < 2; ++i) ASSERT_OK(advertise(i));
  pass(kAdvertising);
  pass(kAdvertising);
  EXPECT_FALSE(cohorts_->failure());
  EXPECT_EQ(cohorts_->sessions()[0]->phase(), CohortMachine::Phase::advertising);
  ASSERT_OK(advertise(2));
  pass(kAdvertising);
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{3}));
  EXPECT_EQ(cohorts_->sessions()[0]->phase(), CohortMachine::Phase::sharing);
}

TEST_F(RoundCohortsTest, ACohortThatNeverCameAboutIsLeftOut) {
  begin(3, 12, 9, 9);  // one device in the last: fewer than a sum must have
  for (uint32_t i = 0; i < 9; ++i) ASSERT_OK(advertise(i));
  pass(kPatience);
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{4, 4})) << "and the others go on";
  EXPECT_FALSE(cohorts_->failure());
  EXPECT_EQ(cohorts_->ask(devices_[8].id, CohortQuestion::roster, now_).error().code(), ErrorCode::round_closed);
  mask_all(range(0, 8));
  EXPECT_EQ(cohorts_->updates_expected(), 8u);
  cohorts_->freeze(ids(range(0, 8)), now_);
  open_all(range(0, 8));
  EXPECT_TRUE(cohorts_->is_ready());
  ASSERT_EQ(cohorts_->left_out().size(), 1u);
  EXPECT_EQ(secagg::fault_of(cohorts_->left_out()[0]), secagg::Fault::cohort_size);
}

TEST_F(RoundCohortsTest, ACohortWithoutUpdatesIsLeftOutWhenTheRoundIsFrozen) {
  begin(2, 8, 8, 8);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  for (uint32_t i = 0; i < 8; ++i) share(i);
  for (uint32_t i = 0; i < 4; ++i) mask(i);  // the others vanish
  pass(kPhase);
  EXPECT_EQ(cohorts_->updates_expected(), 4u);
  cohorts_->freeze(ids(range(0, 4)), now_);
  EXPECT_FALSE(cohorts_->failure());
  open_all(range(0, 4));
  EXPECT_TRUE(cohorts_->is_ready());
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{4}));
  EXPECT_TRUE(cohorts_->left_out().empty()) << "it did not fail, there was nothing of it";
}

TEST_F(RoundCohortsTest, ACohortThatIsInTheSumTakesTheSumWithIt) {
  begin(2, 8, 8, 8);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  mask_all(range(0, 8));
  cohorts_->freeze(ids(range(0, 8)), now_);
  open_all(range(0, 4));
  EXPECT_FALSE(cohorts_->failure());
  pass(kPhase);  // nobody of the second confirms
  ASSERT_TRUE(cohorts_->failure());
  EXPECT_FALSE(cohorts_->is_ready());
}

TEST_F(RoundCohortsTest, AllThatFailAreAFailure) {
  begin(2, 8, 8, 2);
  ASSERT_OK(advertise(0));
  ASSERT_OK(advertise(1));
  pass(kAdvertising);
  ASSERT_TRUE(cohorts_->failure());
  EXPECT_EQ(secagg::fault_of(*cohorts_->failure()), secagg::Fault::cohort_size);
  EXPECT_FALSE(cohorts_->updates_expected());
}

TEST_F(RoundCohortsTest, ASumWithUpdatesOfNobodyHereIsLost) {
  begin(2, 8, 8, 9);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  mask_all(range(0, 8));
  cohorts_->freeze(ids(range(0, 9)), now_);
  ASSERT_TRUE(cohorts_->failure());
  EXPECT_FALSE(cohorts_->is_ready());
}

}  // namespace
}  // namespace coterie
