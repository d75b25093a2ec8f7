// The attempts of a leader, all together. What one attempt says when is attempt_machine_test's; here it is whose call
// reaches which, and what its words come to.
#include "fl_server/core/live_attempts.h"

#include <gmock/gmock.h>

#include "fl_server/core/attempt_terms.h"
#include "tests/support/throwing_asserts.h"
#include "tests/unit/fl_server/core/cohort_device.h"

namespace coterie {

// Does what no event can do.
struct LiveAttemptsTamperer {
  static void lose(LiveAttempts& attempts) { attempts.attempts_.clear(); }
};

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const RoundKey kRound{RoundId(7), Attempt(1)};
const RoundKey kOther{RoundId(9), Attempt(1)};

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

ServePublished served(SecurityLevel level = SecurityLevel::masked, const RoundKey& key = kRound,
                      RoundState state = RoundState::collecting) {
  ServePublished served;
  served.begins = true;
  served.has_accepted = false;
  HorizontalSettings settings;
  settings.privacy.level = level;
  RoundNotice& notice = served.round.notice;
  notice.job = JobId("j" + std::to_string(key.round.value()));
  notice.key = key;
  notice.state = state;
  notice.goal_count = 4;
  notice.plan = plan_of(settings, notice.job, 4);
  served.round.rules = {
      .cohort_count = 2, .adverts_goal = 8, .cohort_phase_max = Millis(1'000), .deadline = Instant(Millis(20'000))};
  return served;
}

FinalizeRound finalize_of(SecurityLevel level, const RoundKey& key = kRound) {
  FinalizeRound request;
  request.job.id = JobId("j" + std::to_string(key.round.value()));
  request.job.spec.horizontal().privacy.level = level;
  request.round.key = key;
  return request;
}

// Attempts, checked after each step; their effects as text. Each has one device.
class Attempts {
 public:
  Lines serve(const ServePublished& served) {
    if (const auto session = terms_of(served.round.notice).session)
      devices_.insert_or_assign(served.round.notice.key, test::cohort_device(*session, 0));
    return step(AttemptServed{served, std::vector<uint64_t>(LiveAttempts::seeds_needed(served), 1), test::accept_all});
  }
  Lines advertise(uint64_t call, const RoundKey& key = kRound) {
    const test::CohortDevice& device = devices_.at(key);
    return step(DeviceCalled{
        key, CohortMessageCame{CohortCall(call), device.id, device.signer->public_key(), device.client->advert()}});
  }
  Lines ask(uint64_t call, const RoundKey& key = kRound) {
    return step(
        DeviceCalled{key, CohortAsked{CohortCall(call), devices_.at(key).id, CohortQuestion::roster, Millis(500)}});
  }
  Lines send_input(uint64_t call, const RoundKey& key = kRound) {
    return step(DeviceCalled{key, MaskedInputCame{CohortCall(call), devices_.at(key).id, {}}});
  }
  Lines step(const LiveEvent& event, int64_t at_ms = 0) {
    Lines lines;
    for (const LiveEffect& effect : attempts_.step(event, Instant(Millis(at_ms)))) lines.push_back(text(effect));
    attempts_.check();
    return lines;
  }
  LiveAttempts& machine() { return attempts_; }

 private:
  static std::string text(const LiveEffect& effect) {
    struct Visitor {
      std::string operator()(const AnswerTaken& e) {
        return (e.taken ? "take " : "refuse ") + std::to_string(e.call.value());
      }
      std::string operator()(const AnswerAsked& e) {
        return (e.reply ? "answer " : "refuse ") + std::to_string(e.call.value());
      }
      std::string operator()(const TellNodesDue& e) { return "due " + std::to_string(e.total); }
      std::string operator()(const TellJob& e) {
        if (const auto* lost = std::get_if<AttemptLost>(&e.event)) return e.job.value() + " lost " + text_of(lost->key);
        if (const auto* done = std::get_if<RoundFinalized>(&e.event)) {
          return e.job.value() + (done->round ? " finalized " : " not finalized ") + std::to_string(done->serial);
        }
        return e.job.value() + " hears";
      }
      std::string operator()(const ListRows& e) { return "rows of " + text_of(e.key); }
      std::string operator()(const ListForSum& e) {
        return "survivors of " + text_of(e.key) + (e.serial ? " for " + std::to_string(*e.serial) : "") +
               (e.reserves ? ", reserved" : "");
      }
      std::string operator()(const FinalizeNow& e) {
        return "finalize " + text_of(e.request.round.key) + (e.sum ? " masked" : " open");
      }
      std::string operator()(const NoteNotBegun& e) { return "not begun: " + e.job.value(); }
      std::string operator()(const NoteFailed&) { return "failed"; }
      std::string operator()(const NoteUnknownInput&) { return "unknown input"; }
    };
    return std::visit(Visitor{}, effect);
  }

  LiveAttempts attempts_;
  std::map<RoundKey, test::CohortDevice> devices_;
};

// ---- Begin and end

TEST(LiveAttempts, OnlyARoundThatCollectsBehindMasksBeginsCohorts) {
  EXPECT_EQ(LiveAttempts::seeds_needed(served()), 2u);
  EXPECT_EQ(LiveAttempts::seeds_needed(served(SecurityLevel::none)), 0u);
  EXPECT_EQ(LiveAttempts::seeds_needed(served(SecurityLevel::masked, kRound, RoundState::frozen)), 0u);
  Attempts attempts;
  EXPECT_THAT(attempts.serve(served(SecurityLevel::none)), IsEmpty());
  EXPECT_FALSE(attempts.machine().is_aggregating(kRound));
  EXPECT_THAT(attempts.serve(served()), IsEmpty());
  EXPECT_TRUE(attempts.machine().is_aggregating(kRound));
}

TEST(LiveAttempts, AnAttemptEndsWithItsRoundAlone) {
  Attempts attempts;
  attempts.serve(served());
  attempts.serve(served(SecurityLevel::masked, kOther));
  EXPECT_THAT(attempts.advertise(1), ElementsAre("take 1"));
  EXPECT_THAT(attempts.advertise(2, kOther), ElementsAre("take 2"));
  EXPECT_THAT(attempts.ask(3), IsEmpty()) << "it is held";
  EXPECT_THAT(attempts.ask(4, kOther), IsEmpty());
  EXPECT_THAT(attempts.step(StopServing{kRound, RoundState::collecting, {}}), ElementsAre("refuse 3"));
  EXPECT_FALSE(attempts.machine().is_aggregating(kRound));
  EXPECT_TRUE(attempts.machine().is_aggregating(kOther));
  EXPECT_THAT(attempts.step(StopServing{kRound, RoundState::collecting, {}}), IsEmpty()) << "again";
}

TEST(LiveAttempts, AnAttemptThatWasUnderWayIsLostForItsJob) {
  Attempts attempts;
  ServePublished resumed = served();
  resumed.has_accepted = true;
  EXPECT_THAT(attempts.serve(resumed), ElementsAre("j7 lost 7.1"));
}

TEST(LiveAttempts, TimeReachesThoseWhoseTimeHasCome) {
  Attempts attempts;
  EXPECT_EQ(attempts.machine().next_deadline(), std::nullopt);
  attempts.serve(served());
  attempts.advertise(8);
  attempts.ask(1);
  EXPECT_EQ(attempts.machine().next_deadline(), Instant(Millis(500)));
  EXPECT_THAT(attempts.step(AttemptTime{}, 499), IsEmpty());
  EXPECT_THAT(attempts.step(AttemptTime{}, 500), ElementsAre("answer 1")) << "not yet";
}

// ---- Devices

TEST(LiveAttempts, ACallForAnAttemptThatIsNotThereIsRefused) {
  Attempts attempts;
  attempts.serve(served());
  attempts.serve(served(SecurityLevel::masked, kOther));
  attempts.step(StopServing{kRound, RoundState::collecting, {}});
  EXPECT_THAT(attempts.ask(1), ElementsAre("refuse 1"));
  EXPECT_THAT(attempts.advertise(2), ElementsAre("refuse 2"));
  EXPECT_THAT(attempts.send_input(3), ElementsAre("refuse 3"));
  EXPECT_THAT(attempts.step(InputAccepted{kRound, {}}), IsEmpty());
}

TEST(LiveAttempts, NobodyIsHeldWhoseServerIsAboutToGo) {
  Attempts attempts;
  attempts.serve(served());
  attempts.advertise(8);
  attempts.ask(1);
  EXPECT_THAT(attempts.step(StopHolding{}), ElementsAre("answer 1"));
  EXPECT_THAT(attempts.ask(2), ElementsAre("answer 2"));
  attempts.serve(served(SecurityLevel::masked, kOther));
  attempts.advertise(9, kOther);
  EXPECT_THAT(attempts.ask(3, kOther), ElementsAre("answer 3")) << "of an attempt that began since";
}

TEST(LiveAttempts, ACallHasANumberOfItsOwn) {
  const test::ThrowingAsserts throwing;
  Attempts attempts;
  attempts.serve(served());
  attempts.advertise(8);
  attempts.ask(1);
  EXPECT_THROW(attempts.ask(1), AssertionFailure);
}

TEST(LiveAttempts, ACallThatNobodyWillAnswerIsNamed) {
  const test::ThrowingAsserts throwing;
  Attempts attempts;
  attempts.serve(served());
  attempts.advertise(8);
  attempts.ask(1);
  LiveAttemptsTamperer::lose(attempts.machine());
  EXPECT_THROW(attempts.machine().check(), AssertionFailure);
}

// ---- Rows

TEST(LiveAttempts, RowsAreLookedAtForMasksAlone) {
  Attempts attempts;
  EXPECT_THAT(attempts.step(RowsMayBeThere{kRound}), IsEmpty());
  attempts.serve(served());
  EXPECT_THAT(attempts.step(RowsMayBeThere{kRound}), ElementsAre("rows of 7.1"));
  EXPECT_THAT(attempts.step(RowsListed{kRound, Error(ErrorCode::unavailable, "down")}), IsEmpty());
  EXPECT_THAT(attempts.step(RowsListed{kRound, std::vector<DeviceId>(1)}), IsEmpty()) << "none of its devices";
}

// ---- The sum

TEST(LiveAttempts, ASumThatLiesOpenIsFinalizedWhenThatIsWanted) {
  Attempts attempts;
  EXPECT_THAT(attempts.step(FinalizeWanted{4, finalize_of(SecurityLevel::none)}), ElementsAre("finalize 7.1 open"));
  EXPECT_THAT(attempts.step(FinalizeDone{4, JobId("j7"), kRound, false, FinalizedRound{}}),
              ElementsAre("j7 finalized 4"));
  EXPECT_THAT(attempts.step(FinalizeDone{5, JobId("j7"), kRound, false, Error(ErrorCode::data_loss, "torn")}),
              ElementsAre("j7 not finalized 5"));
}

TEST(LiveAttempts, AMaskedSumOfAnotherLifeIsLostAtItsClaim) {
  Attempts attempts;
  EXPECT_THAT(attempts.step(FinalizeWanted{4, finalize_of(SecurityLevel::masked)}),
              ElementsAre("survivors of 7.1 for 4"));
  EXPECT_THAT(attempts.step(SurvivorsOf{kRound, {4, std::vector<DeviceId>()}}), ElementsAre("j7 lost 7.1"));
}

TEST(LiveAttempts, WhatDevicesNoiseReleasesIsReservedFirst) {
  Attempts attempts;
  EXPECT_THAT(attempts.step(FinalizeWanted{4, finalize_of(SecurityLevel::active_dp)}),
              ElementsAre("survivors of 7.1 for 4, reserved"));
}

TEST(LiveAttempts, AFreezeListsTheSurvivorsOfMaskedAttemptsAlone) {
  Attempts attempts;
  attempts.serve(served());
  EXPECT_THAT(attempts.step(served(SecurityLevel::masked, kRound, RoundState::frozen).round),
              ElementsAre("survivors of 7.1"));
  EXPECT_THAT(attempts.step(served(SecurityLevel::none, kOther, RoundState::frozen).round), IsEmpty());
}

TEST(LiveAttempts, AMaskedSumThatCameToNothingIsJudgedByItsAttempt) {
  Attempts attempts;
  attempts.step(FinalizeWanted{4, finalize_of(SecurityLevel::masked)});
  EXPECT_THAT(attempts.step(FinalizeDone{4, JobId("j7"), kRound, true, Error(ErrorCode::unavailable, "down")}),
              ElementsAre("j7 not finalized 4"));
  EXPECT_THAT(attempts.step(FinalizeDone{5, JobId("j7"), kRound, true, Error(ErrorCode::data_loss, "shares")}),
              ElementsAre("j7 lost 7.1"));
  EXPECT_THAT(attempts.step(FinalizeDone{6, JobId("j7"), kOther, true, Error(ErrorCode::data_loss, "shares")}),
              IsEmpty())
      << "of an attempt that is over";
}

}  // namespace
}  // namespace coterie
