// Cohorts that are drawn: devices wait until all are there, and are placed by a hash.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "secure/secagg/fault.h"
#include "tests/unit/fl_server/core/round_cohorts_fixture.h"

namespace coterie {
namespace {

using test::kAdvertising;
using test::kPatience;
using test::kPhase;

secagg::CohortDraw draw_of(uint8_t model, uint32_t attempt = 1) {
  secagg::CohortDraw draw{.model = {}, .attempt = Attempt(attempt)};
  draw.model.bytes.fill(model);
  return draw;
}

std::vector<DeviceId> some_devices(uint32_t count) {
  std::vector<DeviceId> devices(count);
  for (uint32_t i = 0; i < count; ++i) devices[i].bytes[3] = static_cast<uint8_t>(i + 1);
  return devices;
}

TEST(CohortDraw, CutsEvenly) {
  const auto drawn = secagg::drawn_cohorts(draw_of(1), some_devices(14), 3, 4);
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[0].size(), 4u);
  EXPECT_EQ(drawn[1].size(), 5u);
  EXPECT_EQ(drawn[2].size(), 5u);
  std::set<DeviceId> all;
  for (const auto& cohort : drawn) all.insert(cohort.begin(), cohort.end());
  EXPECT_EQ(all.size(), 14u);
}

TEST(CohortDraw, MakesFewerWhereTheyWouldBeTooSmall) {
  EXPECT_EQ(secagg::drawn_cohorts(draw_of(1), some_devices(14), 3, 5).size(), 2u);
  EXPECT_EQ(secagg::drawn_cohorts(draw_of(1), some_devices(4), 3, 5).size(), 1u);
  EXPECT_EQ(secagg::drawn_cohorts(draw_of(1), {}, 3, 5), std::vector<std::vector<DeviceId>>(1));
}

TEST(CohortDraw, DependsOnModelAndAttemptAndNotOnWhoCameFirst) {
  std::vector<DeviceId> devices = some_devices(20);
  const auto drawn = secagg::drawn_cohorts(draw_of(1), devices, 4, 2);
  std::ranges::reverse(devices);
  EXPECT_EQ(secagg::drawn_cohorts(draw_of(1), devices, 4, 2), drawn);
  EXPECT_NE(secagg::drawn_cohorts(draw_of(2), devices, 4, 2), drawn);
  EXPECT_NE(secagg::drawn_cohorts(draw_of(1, 2), devices, 4, 2), drawn);
}

class DrawnCohorts : public test::RoundCohortsTest {
 protected:
  void begin_drawn(uint32_t count, uint32_t goal, uint32_t enough, uint32_t devices) {
    begin(count, goal, enough, devices, 0, draw_of(7));
  }
  // How the devices 0 to count - 1 are placed, by their numbers.
  std::vector<std::vector<uint32_t>> expected(uint32_t count, uint32_t cohorts) const {
    std::vector<std::vector<uint32_t>> numbers;
    for (const auto& cohort : secagg::drawn_cohorts(draw_of(7), ids(range(0, count)), cohorts, 1)) {
      numbers.emplace_back();
      for (uint32_t i = 0; i < count; ++i) {
        if (std::ranges::count(cohort, devices_[i].id) > 0) numbers.back().push_back(i);
      }
    }
    return numbers;
  }
  void expect_sessions_of(const std::vector<std::vector<uint32_t>>& numbers) {
    const auto sessions = cohorts_->sessions();
    ASSERT_EQ(sessions.size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(sessions[i]->size(), numbers[i].size());
      for (const uint32_t device : numbers[i]) {
        EXPECT_TRUE(sessions[i]->device_of(devices_[device].signer->public_key())) << device << " in " << i;
      }
    }
  }
  NotYet not_yet(uint32_t device) { return asked<NotYet>(devices_[device], CohortQuestion::roster); }
};

TEST_F(DrawnCohorts, AreThoseOfTheDrawOnceAllAreThere) {
  begin_drawn(3, 14, 14, 15);
  for (uint32_t i = 0; i < 13; ++i) {
    ASSERT_OK(advertise(i));
    ASSERT_OK(advertise(i));
  }
  EXPECT_EQ(cohorts_->device_count(), 13u);
  EXPECT_EQ(cohorts_->progress(), 0u);
  EXPECT_EQ(not_yet(0).cohort_size, 13u);
  ASSERT_OK(advertise(13));
  expect_sessions_of(expected(14, 3));
  EXPECT_FALSE(advertise(14)) << "there is no room for one more";
  ASSERT_OK(advertise(3)) << "again, and to its own";
  mask_all(range(0, 14));
  EXPECT_EQ(cohorts_->updates_expected(), 14u);
  cohorts_->freeze(ids(range(0, 14)), now_);
  open_all(range(0, 14));
  EXPECT_TRUE(cohorts_->is_ready());
}

TEST_F(DrawnCohorts, AreSmallerIfDevicesAreMissing) {
  begin_drawn(3, 15, 12, 13);
  for (uint32_t i = 0; i < 12; ++i) ASSERT_OK(advertise(i));
  pass(kPatience);  // enough are there, and others have had as long again
  expect_sessions_of(expected(12, 3));
  EXPECT_FALSE(advertise(12)) << "it is too late";
}

TEST_F(DrawnCohorts, AreFewerIfTheyWouldBeTooSmallForASum) {
  begin_drawn(4, 16, 16, 8);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_OK(advertise(i));
  EXPECT_EQ(cohorts_->next_deadline(), now_ + kAdvertising);
  pass(kAdvertising);
  expect_sessions_of(expected(8, 2));
  EXPECT_FALSE(cohorts_->failure());
  mask_all(range(0, 8));
  cohorts_->freeze(ids(range(0, 8)), now_);
  open_all(range(0, 8));
  EXPECT_TRUE(cohorts_->is_ready());
}

TEST_F(DrawnCohorts, FewerOnesAreLargerThanPlannedAndLoseNobody) {
  begin_drawn(4, 16, 16, 5);
  for (uint32_t i = 0; i < 5; ++i) ASSERT_OK(advertise(i));
  pass(kAdvertising);
  expect_sessions_of(expected(5, 1));
  mask_all(range(0, 5));
  cohorts_->freeze(ids(range(0, 5)), now_);
  open_all(range(0, 5));
  EXPECT_TRUE(cohorts_->is_ready());
}

TEST_F(DrawnCohorts, OfTooFewDevicesFail) {
  begin_drawn(2, 8, 8, 2);
  ASSERT_OK(advertise(0));
  ASSERT_OK(advertise(1));
  pass(kAdvertising);
  ASSERT_TRUE(cohorts_->failure());
  EXPECT_EQ(secagg::fault_of(*cohorts_->failure()), secagg::Fault::cohort_size);
}

TEST_F(DrawnCohorts, AQuestionAtTheEndOfTheWaitPlacesThem) {
  begin_drawn(1, 8, 8, 3);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_OK(advertise(i));
  now_ += kAdvertising;
  EXPECT_EQ(asked<RosterView>(devices_[1], CohortQuestion::roster).entries.size(), 3u);
  EXPECT_EQ(cohorts_->next_deadline(), now_ + kPhase);
}

TEST_F(DrawnCohorts, AnAdvertIsJudgedWhenItComes) {
  begin_drawn(2, 8, 8, 3);
  KeyAdvert bad = devices_[0].client->advert();
  bad.seal_key = bad.mask_key;
  const Status refused = send(devices_[0], bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(secagg::fault_of(refused.error()), secagg::Fault::duplicate_key);
  ASSERT_OK(advertise(0));
  const Status second = send(devices_[0], bad);
  ASSERT_FALSE(second);
  EXPECT_EQ(secagg::fault_of(second.error()), secagg::Fault::equivocation);
  EXPECT_ERROR(cohorts_->receive(devices_[1].id, devices_[2].signer->public_key(), devices_[1].client->advert(), now_),
               ErrorCode::permission_denied, "with the key of another device");
  EXPECT_EQ(cohorts_->device_count(), 1u);
}

}  // namespace
}  // namespace coterie
