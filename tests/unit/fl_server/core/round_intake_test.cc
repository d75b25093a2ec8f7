#include "fl_server/core/round_intake.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const RoundKey kRound{RoundId(7), Attempt(1)};
const RoundKey kNext{RoundId(7), Attempt(2)};
const RoundKey kOther{RoundId(9), Attempt(1)};

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

RoundNotice notice(const RoundKey& key = kRound, const std::string& job = "j") {
  RoundNotice round;
  round.job = JobId(job);
  round.key = key;
  round.state = RoundState::collecting;
  return round;
}

DeviceId device(uint8_t index) {
  DeviceId id;
  id.bytes[15] = index;
  return id;
}

// An intake, its effects as text.
class Intake {
 public:
  explicit Intake(bool can_look = false) : intake_({.ask_again = Millis(500), .can_look = can_look}) {}

  Lines learn(const RoundNotice& round = notice()) { return step(LearnRound{round}); }
  Lines listed(const RoundKey& key = kRound, std::vector<DeviceId> accepted = {}) {
    return step(AcceptedListed{key, Listed{std::move(accepted)}});
  }
  Lines not_listed(const RoundKey& key = kRound) {
    return step(AcceptedListed{key, Error(ErrorCode::unavailable, "down")});
  }
  Lines offer(uint64_t upload, const RoundKey& key = kRound) {
    return step(OfferUpload{{UploadId(upload), key, device(1), 100}});
  }
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return step(IntakeTime{});
  }
  Lines step(const IntakeEvent& event) {
    Lines lines;
    for (const IntakeEffect& effect : intake_.step(event, now_)) lines.push_back(text(effect));
    return lines;
  }
  const RoundIntake& machine() const { return intake_; }

 private:
  static std::string text(const IntakeEffect& effect) {
    struct Visitor {
      std::string operator()(const AskAccepted& e) { return "ask " + text_of(e.key); }
      std::string operator()(const TakeUp& e) {
        return "take up " + text_of(e.notice.key) + " accepted=" + std::to_string(e.devices.accepted.size());
      }
      std::string operator()(const GiveUp& e) { return "give up " + text_of(e.key); }
      std::string operator()(const LookForRounds&) { return "look"; }
      std::string operator()(const StepIngest& e) {
        if (const auto* offered = std::get_if<UploadOffered>(&e.event)) {
          return "offer " + std::to_string(offered->upload.value());
        }
        return "due " + std::to_string(std::get<UpdatesDue>(e.event).total);
      }
    };
    return std::visit(Visitor{}, effect);
  }

  Instant now_{};
  RoundIntake intake_;
};

TEST(RoundIntake, AsksWhoIsAcceptedBeforeDevicesAreAsked) {
  Intake intake;
  EXPECT_THAT(intake.learn(), ElementsAre("ask 7.1"));
  EXPECT_FALSE(intake.machine().serves(kRound));
  EXPECT_THAT(intake.listed(kRound, {device(1), device(2)}), ElementsAre("take up 7.1 accepted=2"));
  EXPECT_TRUE(intake.machine().serves(kRound));
  EXPECT_THAT(intake.learn(), ElementsAre("take up 7.1 accepted=0")) << "changed: the machines know the rest";
}

TEST(RoundIntake, AsksOnceAndTakesUpTheNewestNotice) {
  Intake intake;
  intake.learn();
  EXPECT_THAT(intake.learn(), IsEmpty());
  EXPECT_THAT(intake.listed(), ElementsAre("take up 7.1 accepted=0"));
  EXPECT_THAT(intake.listed(), IsEmpty()) << "an answer twice";
}

TEST(RoundIntake, AsksAgainUntilTheStoreAnswers) {
  Intake intake;
  intake.at(100);
  intake.learn();
  EXPECT_THAT(intake.at(5'000), IsEmpty()) << "the question is on its way";
  EXPECT_THAT(intake.not_listed(), IsEmpty());
  EXPECT_EQ(intake.machine().next_deadline(), Instant(Millis(5'500)));
  EXPECT_THAT(intake.at(5'499), IsEmpty());
  EXPECT_THAT(intake.at(5'500), ElementsAre("ask 7.1"));
  EXPECT_EQ(intake.machine().next_deadline(), std::nullopt);
  EXPECT_THAT(intake.listed(), ElementsAre("take up 7.1 accepted=0"));
}

TEST(RoundIntake, AnAttemptTakesThePlaceOfTheOneBefore) {
  Intake intake;
  intake.learn();
  intake.listed();
  intake.learn(notice(kOther, "k"));
  intake.listed(kOther);
  EXPECT_THAT(intake.learn(notice(kNext)), ElementsAre("give up 7.1", "ask 7.2"));
  EXPECT_TRUE(intake.machine().serves(kOther)) << "another job's";
  EXPECT_THAT(intake.learn(notice({RoundId(8), Attempt(1)})), ElementsAre("ask 8.1"));
  EXPECT_THAT(intake.listed(kNext), IsEmpty()) << "over meanwhile";
}

TEST(RoundIntake, ForgetsARound) {
  Intake intake;
  intake.learn();
  EXPECT_THAT(intake.step(ForgetRound{kRound}), IsEmpty()) << "the machines never heard of it";
  EXPECT_THAT(intake.listed(), IsEmpty());
  intake.learn();
  intake.listed();
  EXPECT_THAT(intake.step(ForgetRound{kRound}), ElementsAre("give up 7.1"));
  EXPECT_THAT(intake.step(ForgetRound{kRound}), IsEmpty());
}

TEST(RoundIntake, OffersUploadsOfWhatItServes) {
  Intake intake;
  intake.learn();
  intake.listed();
  EXPECT_THAT(intake.offer(1), ElementsAre("offer 1"));
  EXPECT_THAT(intake.offer(2, kOther), ElementsAre("offer 2")) << "nowhere to look: the ingest machine refuses it";
}

TEST(RoundIntake, AnUploadWaitsForTheStore) {
  Intake intake(true);
  intake.learn();
  EXPECT_THAT(intake.offer(1), IsEmpty());
  EXPECT_THAT(intake.not_listed(), IsEmpty());
  EXPECT_THAT(intake.offer(2), IsEmpty());
  EXPECT_THAT(intake.listed(), ElementsAre("take up 7.1 accepted=0", "offer 1", "offer 2"));
}

TEST(RoundIntake, AnUploadThatCameBeforeItsRoundWaitsForALookAtTheBoard) {
  Intake intake(true);
  EXPECT_THAT(intake.offer(1), ElementsAre("look"));
  EXPECT_THAT(intake.learn(), ElementsAre("ask 7.1"));
  EXPECT_THAT(intake.step(RoundsLookedAt{}), IsEmpty()) << "the store has not said who is accepted";
  EXPECT_THAT(intake.listed(), ElementsAre("take up 7.1 accepted=0", "offer 1"));
}

TEST(RoundIntake, AnUploadOfARoundThatIsNotThereIsOfferedAfterTheLook) {
  Intake intake(true);
  EXPECT_THAT(intake.offer(1), ElementsAre("look"));
  EXPECT_THAT(intake.offer(2, kOther), ElementsAre("look"));
  EXPECT_THAT(intake.step(RoundsLookedAt{}), ElementsAre("offer 1", "offer 2"));
  EXPECT_THAT(intake.step(RoundsLookedAt{}), IsEmpty());
}

TEST(RoundIntake, AnUploadOfARoundThatIsOverBeforeItBeganIsOffered) {
  Intake intake(true);
  intake.learn();
  intake.offer(1);
  EXPECT_THAT(intake.step(ForgetRound{kRound}), ElementsAre("offer 1")) << "to be refused";
}

TEST(RoundIntake, WhatIsDueIsKeptUntilTheRoundIsTakenUp) {
  Intake intake;
  EXPECT_THAT(intake.step(LearnDue{kRound, 9}), IsEmpty()) << "of nothing";
  intake.learn();
  EXPECT_THAT(intake.step(LearnDue{kRound, 9}), IsEmpty());
  EXPECT_THAT(intake.listed(), ElementsAre("take up 7.1 accepted=0", "due 9"));
  EXPECT_THAT(intake.step(LearnDue{kRound, 8}), ElementsAre("due 8"));
}

}  // namespace
}  // namespace coterie
