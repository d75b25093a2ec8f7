// A cohort from the server's side: who may say what, when phases end, what the round hears. The devices are real ones.
#include "fl_server/core/cohort_machine.h"

#include <gtest/gtest.h>

#include "secure/secagg/fault.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/core/cohort_device.h"

namespace coterie {
namespace {

using test::CohortDevice;
using Phase = CohortMachine::Phase;

constexpr Millis kAdvertising{10'000}, kPhase{1'000};

class CohortTest : public testing::Test {
 protected:
  explicit CohortTest(uint32_t devices = 8) {
    parameters_.context.bytes.fill(3);
    parameters_.lane_count = 4;
    parameters_.ring_bits = 64;
    parameters_.survivors_min = 3;
    cohort_ = *CohortMachine::make(
        parameters_,
        {.adverts_goal = devices, .advertising_max = kAdvertising, .phase_max = kPhase, .patience_min = kPhase}, 1,
        test::accept_all, now_);
    for (uint32_t i = 0; i < devices; ++i) devices_.push_back(test::cohort_device(parameters_, i));
  }

  Status send(CohortDevice& device, const CohortMessage& message) {
    return cohort_->receive(device.id, device.signer->public_key(), message, now_);
  }
  template <typename Message>
  Message asked(CohortDevice& device, CohortQuestion question) {
    const Result<CohortReply> reply = cohort_->ask(device.id, question, now_);
    EXPECT_OK(reply);
    return std::get<Message>(*reply);
  }
  void advertise(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) ASSERT_OK(send(devices_[i], devices_[i].client->advert()));
  }
  void share(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) share_one(i);
  }
  void share_one(uint32_t index) {
    const auto shares = devices_[index].client->share(asked<RosterView>(devices_[index], CohortQuestion::roster));
    ASSERT_OK(shares);
    ASSERT_OK(send(devices_[index], *shares));
  }
  void mask(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      CohortDevice& device = devices_[i];
      const auto masking = device.client->mask(asked<ShareInbox>(device, CohortQuestion::share_inbox));
      ASSERT_OK(masking);
      ASSERT_OK(cohort_->input_arrived(device.id, masking->head(), now_));
      inputs_.emplace_back(device.id, masking->head());
    }
  }
  void accept_inputs() {
    for (const auto& [id, input] : inputs_) ASSERT_OK(cohort_->input_accepted(id, input, now_));
  }
  void mask_and_accept(uint32_t count) {
    mask(count);
    accept_inputs();
  }
  void confirm(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      CohortDevice& device = devices_[i];
      const auto confirmation = device.client->confirm(asked<ConfirmRequest>(device, CohortQuestion::confirm_request));
      ASSERT_OK(confirmation);
      ASSERT_OK(send(device, *confirmation));
    }
  }
  Result<Unmasking> unmasking(CohortDevice& device) {
    return device.client->unmask(asked<UnmaskRequest>(device, CohortQuestion::unmask_request));
  }
  std::vector<DeviceId> ids(uint32_t count) const {
    std::vector<DeviceId> ids;
    for (uint32_t i = 0; i < count; ++i) ids.push_back(devices_[i].id);
    return ids;
  }
  void pass(Millis time) { cohort_->time_passed(now_ += time); }
  Phase phase() const { return cohort_->session().phase(); }

  secagg::SessionParameters parameters_;
  Instant now_{Millis(5'000)};
  std::optional<CohortMachine> cohort_;
  std::vector<CohortDevice> devices_;
  std::vector<std::pair<DeviceId, MaskedInput>> inputs_;  // arrived
};

TEST_F(CohortTest, GoesThroughWhenEverybodyAnswers) {
  advertise(8);
  share(8);
  EXPECT_FALSE(cohort_->updates_expected());
  mask_and_accept(8);
  EXPECT_EQ(cohort_->updates_expected(), 8u);
  cohort_->freeze(ids(8), now_);
  confirm(8);
  for (CohortDevice& device : devices_) {
    const auto shares = unmasking(device);
    ASSERT_OK(shares);
    EXPECT_FALSE(cohort_->is_ready());
    ASSERT_OK(send(device, *shares));
  }
  EXPECT_TRUE(cohort_->is_ready());
  EXPECT_FALSE(cohort_->next_deadline());
  const auto opened = cohort_->session().opening().open();
  ASSERT_OK(opened);
  EXPECT_EQ(opened->masks.size(), 8u);
}

TEST_F(CohortTest, EachPhaseEndsInTimeWithoutThoseWhoVanished) {
  advertise(8);
  share(7);
  EXPECT_EQ(phase(), Phase::sharing);
  pass(kPhase - Millis(1));
  EXPECT_EQ(phase(), Phase::sharing);
  pass(Millis(1));
  EXPECT_EQ(phase(), Phase::masking);
  EXPECT_EQ(cohort_->inputs_due(), 7u);
  mask(6);
  EXPECT_EQ(cohort_->next_deadline(), now_ + kPhase);
  pass(kPhase);
  EXPECT_EQ(cohort_->inputs_due(), 6u);
  EXPECT_FALSE(cohort_->updates_expected()) << "they are not yet durable";
  accept_inputs();
  EXPECT_EQ(cohort_->updates_expected(), 6u);
  cohort_->freeze(ids(6), now_);
  confirm(6);
  for (uint32_t i = 0; i < 6; ++i) {
    const auto shares = unmasking(devices_[i]);
    ASSERT_OK(shares);
    ASSERT_OK(send(devices_[i], *shares));
  }
  EXPECT_TRUE(cohort_->is_ready());  // 6 are as many as open a secret of 8
  EXPECT_OK(cohort_->session().opening().open());
}

TEST_F(CohortTest, UnmaskingWaitsForAllButNotForEver) {
  advertise(8);
  share(8);
  mask_and_accept(8);
  cohort_->freeze(ids(8), now_);
  confirm(8);
  std::optional<Unmasking> last;
  for (uint32_t i = 0; i < 7; ++i) {
    const auto shares = unmasking(devices_[i]);
    ASSERT_OK(shares);
    if (i < 6) ASSERT_OK(send(devices_[i], *shares));
    else last = *shares;
  }
  EXPECT_FALSE(cohort_->is_ready());
  pass(kPhase);
  EXPECT_TRUE(cohort_->is_ready());
  const uint32_t answered = cohort_->session().answered();
  EXPECT_OK(send(devices_[6], *last));  // thanks, but others read the shares by now
  EXPECT_EQ(cohort_->session().answered(), answered);
}

// 12 devices, of which 9 open a secret and 2 are planned to vanish.
class PatientCohortTest : public CohortTest {
 protected:
  PatientCohortTest() : CohortTest(12) {
    cohort_ = *CohortMachine::make(parameters_,
                                   {.adverts_goal = 12,
                                    .advertising_max = kAdvertising,
                                    .phase_max = kPhase,
                                    .dropout_share = .2,
                                    .patience_min = Millis(40)},
                                   1, test::accept_all, now_);
  }
  std::optional<Millis> wait() const {
    const auto deadline = cohort_->next_deadline();
    return deadline ? std::optional<Millis>(*deadline - now_) : std::nullopt;
  }
};

TEST_F(PatientCohortTest, WhoWasPlannedToVanishHasAsLongAgainAsTheOthers) {
  advertise(12);
  pass(Millis(30));
  share(8);
  EXPECT_EQ(wait(), kPhase - Millis(30)) << "one more is needed";
  share_one(8);
  EXPECT_EQ(wait(), Millis(200)) << "five times the least: one more than was planned for is missing";
  pass(Millis(30));
  share_one(9);
  EXPECT_EQ(wait(), Millis(60));
  pass(Millis(50));
  share_one(10);
  EXPECT_EQ(wait(), Millis(10)) << "who answers late makes it no longer for the rest";
  pass(Millis(9));
  EXPECT_EQ(phase(), Phase::sharing);
  pass(Millis(1));
  EXPECT_EQ(phase(), Phase::masking);
  pass(Millis(300));
  mask_and_accept(10);  // 2 are missing of all that there ever were: enough
  EXPECT_EQ(wait(), Millis(300));
}

TEST_F(PatientCohortTest, WhatIsPlannedForIsPlannedForAllPhasesTogether) {
  advertise(12);
  share(10);
  pass(Millis(40));
  ASSERT_EQ(phase(), Phase::masking);
  pass(Millis(20));
  mask(9);
  EXPECT_EQ(wait(), Millis(200)) << "9 of 10 are less than were to stay of 12";
}

TEST_F(PatientCohortTest, ARosterClosesWhenItIsToldTo) {
  pass(Millis(200));
  advertise(9);
  EXPECT_EQ(wait(), kAdvertising - Millis(200)) << "how many are enough is not its own to say";
  cohort_->advertise_until(now_ + Millis(50));
  cohort_->advertise_until(now_ + Millis(90));
  EXPECT_EQ(wait(), Millis(50));
  pass(Millis(50));
  EXPECT_EQ(phase(), Phase::sharing);
  EXPECT_EQ(cohort_->session().size(), 9u);
  cohort_->advertise_until(now_);
  EXPECT_EQ(wait(), kPhase);
}

// The store's time is not the devices': who has not sent its update is not given more of it.
TEST_F(PatientCohortTest, UpdatesThatAreNotYetDurableAreWaitedForAndNoOthers) {
  advertise(12);
  share(12);
  const auto late = devices_[11].client->mask(asked<ShareInbox>(devices_[11], CohortQuestion::share_inbox));
  pass(Millis(10));
  mask(11);
  EXPECT_EQ(cohort_->inputs_due(), 12u);
  EXPECT_EQ(wait(), Millis(40));
  pass(Millis(40));
  EXPECT_EQ(cohort_->inputs_due(), 11u);
  EXPECT_EQ(phase(), Phase::masking);
  EXPECT_ERROR(cohort_->input_arrived(devices_[11].id, late->head(), now_), ErrorCode::round_closed, "goes on without");
  EXPECT_OK(cohort_->input_arrived(devices_[0].id, inputs_[0].second, now_)) << "again";
  pass(Millis(500));
  EXPECT_FALSE(cohort_->updates_expected());
  accept_inputs();
  EXPECT_EQ(cohort_->updates_expected(), 11u);
  EXPECT_FALSE(cohort_->next_deadline()) << "the round's turn";
  cohort_->freeze(ids(11), now_);
  EXPECT_EQ(phase(), Phase::confirming);
}

TEST_F(PatientCohortTest, UpdatesThatNeverBecomeDurableAreGivenUp) {
  advertise(12);
  share(12);
  mask(12);
  for (uint32_t i = 0; i < 10; ++i) ASSERT_OK(cohort_->input_accepted(inputs_[i].first, inputs_[i].second, now_));
  EXPECT_EQ(wait(), kPhase);
  pass(kPhase);
  EXPECT_EQ(cohort_->updates_expected(), 10u);
}

TEST_F(CohortTest, AnswersNotYetBeforeItsTime) {
  const auto is_not_yet = [&](CohortQuestion question) {
    const auto reply = cohort_->ask(devices_[0].id, question, now_);
    EXPECT_OK(reply);
    return reply && std::holds_alternative<NotYet>(*reply);
  };
  advertise(7);
  EXPECT_TRUE(is_not_yet(CohortQuestion::roster));
  ASSERT_OK(send(devices_[7], devices_[7].client->advert()));
  EXPECT_FALSE(is_not_yet(CohortQuestion::roster));
  EXPECT_TRUE(is_not_yet(CohortQuestion::share_inbox));
  share(8);
  EXPECT_FALSE(is_not_yet(CohortQuestion::share_inbox));
  EXPECT_TRUE(is_not_yet(CohortQuestion::confirm_request));
  mask_and_accept(8);
  EXPECT_TRUE(is_not_yet(CohortQuestion::confirm_request));  // until the round is frozen
  cohort_->freeze(ids(8), now_);
  EXPECT_FALSE(is_not_yet(CohortQuestion::confirm_request));
  EXPECT_TRUE(is_not_yet(CohortQuestion::unmask_request));
}

TEST_F(CohortTest, TooFewAdvertsFail) {
  advertise(2);
  pass(kAdvertising);
  ASSERT_TRUE(cohort_->failure());
  EXPECT_EQ(secagg::fault_of(*cohort_->failure()), secagg::Fault::cohort_size);
  EXPECT_ERROR(send(devices_[0], devices_[0].client->advert()), ErrorCode::round_closed, "secure aggregation");
  EXPECT_FALSE(cohort_->next_deadline());
}

TEST_F(CohortTest, TooFewSharesToOpenFail) {
  advertise(8);
  share(8);
  mask_and_accept(8);
  cohort_->freeze(ids(8), now_);
  confirm(8);
  pass(kPhase);
  ASSERT_TRUE(cohort_->failure());
  EXPECT_NE(cohort_->failure()->message().find("too few devices answered"), std::string::npos);
}

TEST_F(CohortTest, NobodySpeaksForAnother) {
  EXPECT_ERROR(send(devices_[0], devices_[1].client->advert()), ErrorCode::permission_denied,
               "the key of another device");
  advertise(8);
  auto shares = devices_[0].client->share(asked<RosterView>(devices_[0], CohortQuestion::roster));
  ASSERT_OK(shares);
  EXPECT_ERROR(send(devices_[1], *shares), ErrorCode::permission_denied, "in the name of another device");
  EXPECT_OK(send(devices_[0], *shares));
  CohortDevice stranger;
  stranger.id.bytes.fill(99);
  EXPECT_ERROR(cohort_->ask(stranger.id, CohortQuestion::roster, now_), ErrorCode::round_closed, "not in the cohort");
}

TEST_F(CohortTest, MaskedUpdatesAreTheirOwnersAndInTime) {
  advertise(8);
  share(8);
  const auto masking = devices_[0].client->mask(asked<ShareInbox>(devices_[0], CohortQuestion::share_inbox));
  ASSERT_OK(masking);
  EXPECT_ERROR(cohort_->input_arrived(devices_[1].id, masking->head(), now_), ErrorCode::permission_denied,
               "another device");
  MaskedInput other = masking->head();
  ++other.lane_count;
  EXPECT_ERROR(cohort_->input_arrived(devices_[0].id, other, now_), ErrorCode::malformed, "lanes");
  EXPECT_OK(cohort_->input_arrived(devices_[0].id, masking->head(), now_));
  EXPECT_OK(cohort_->input_arrived(devices_[0].id, masking->head(), now_));
}

// What the store has accepted and what the session knows must be the same.
TEST_F(CohortTest, ASumWithAnUpdateThatTheSessionDoesNotKnowIsLost) {
  advertise(8);
  share(8);
  mask_and_accept(7);
  cohort_->freeze(ids(8), now_);
  ASSERT_TRUE(cohort_->failure());
  EXPECT_NE(cohort_->failure()->message().find("does not know"), std::string::npos);
}

TEST_F(CohortTest, ASumWithoutAnUpdateThatTheSessionCountsIsLost) {
  advertise(8);
  share(8);
  mask_and_accept(8);
  cohort_->freeze(ids(7), now_);
  EXPECT_TRUE(cohort_->failure());
}

TEST_F(CohortTest, FreezesOnce) {
  advertise(8);
  share(8);
  mask_and_accept(8);
  cohort_->freeze(ids(8), now_);
  cohort_->freeze(ids(7), now_);
  EXPECT_FALSE(cohort_->failure());
  EXPECT_EQ(cohort_->session().survivors().size(), 8u);
}

}  // namespace
}  // namespace coterie
