#include "fl_server/core/served_rounds.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const RoundKey kRound{RoundId(7), Attempt(1)};
const RoundKey kNext{RoundId(7), Attempt(2)};
constexpr uint32_t kJobsPlan = 1, kOwnPlan = 2;  // their sizes

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

// A ServedRounds, checked after each step; its effects as text.
class Served {
 public:
  // `until_ms`: its deadline. Its population is its job's name.
  Lines publish(RoundState state, const RoundKey& key = kRound, const std::string& job = "j", int64_t until_ms = 100) {
    PublishRound round;
    round.notice.job = JobId(job);
    round.notice.population = Population(job);
    round.notice.number = 3;
    round.notice.key = key;
    round.notice.state = state;
    round.notice.assignment.plan_bytes = kJobsPlan;
    round.rules.deadline = Instant(Millis(until_ms));
    return step(round);
  }
  Lines ready(uint64_t serial, bool has_accepted = false, const RoundKey& key = kRound) {
    return step(RoundReadied{serial, key, ReadyRound{has_accepted, {}, kOwnPlan}});
  }
  Lines not_ready(uint64_t serial) { return step(RoundReadied{serial, kRound, Error(ErrorCode::unavailable, "down")}); }
  Lines withdraw(const RoundKey& key = kRound) { return step(WithdrawRound{key}); }
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return step(ServingTime{});
  }
  const ServedRounds& machine() const { return served_; }
  Lines step(const ServingEvent& event) {
    struct Visitor {
      std::string operator()(const TellJob& e) {
        const std::string job = "tell " + e.job.value();
        if (const auto* pool = std::get_if<PoolChanged>(&e.event))
          return job + " " + std::to_string(pool->waiting) + " wait at " + std::to_string(pool->nodes);
        if (const auto* issued = std::get_if<TicketsIssued>(&e.event)) {
          return job + " " + std::to_string(issued->total) + " tickets of " + text_of(issued->key);
        }
        const auto& accepted = std::get<UpdatesAccepted>(e.event);
        return job + " " + std::to_string(accepted.total) + " accepted in " + text_of(accepted.key);
      }
      std::string operator()(const AskBeforeServing& e) {
        return "ask " + std::to_string(e.serial) + " of " + text_of(e.notice.key);
      }
      std::string operator()(const ServePublished& e) {
        return std::string(e.begins ? "begin " : "serve ") + text_of(e.round.notice.key) +
               " plan=" + std::to_string(e.round.notice.assignment.plan_bytes) +
               " until=" + std::to_string(to_ms(e.round.rules.deadline)) + (e.has_accepted ? " over rows" : "");
      }
      std::string operator()(const SignAgain& e) {
        return "sign " + text_of(e.notice.key) + " plan=" + std::to_string(e.notice.assignment.plan_bytes) +
               " until=" + std::to_string(to_ms(e.deadline));
      }
      std::string operator()(const StopServing& e) {
        return "stop " + text_of(e.key) + " opened at " + std::to_string(to_ms(e.opened)) +
               (e.state == RoundState::finalizing ? ", done" : "");
      }
      std::string operator()(const NoteUpdates& e) {
        return "note " + std::to_string(e.total) + " in round " + std::to_string(e.number) + " of " + e.job.value();
      }
      static int64_t to_ms(Instant at) { return std::chrono::duration_cast<Millis>(at.time_since_epoch()).count(); }
    };
    Lines lines;
    for (const ServingEffect& effect : served_.step(event, now_)) lines.push_back(std::visit(Visitor{}, effect));
    served_.check();
    return lines;
  }

 private:
  ServedRounds served_;
  Instant now_{};
};

TEST(ServedRounds, ARoundIsServedOnceTheStoreHasSaidWhatItFound) {
  Served served;
  EXPECT_THAT(served.publish(RoundState::selecting), ElementsAre("tell j 0 wait at 0"));
  EXPECT_FALSE(served.machine().is_waiting(kRound));
  EXPECT_THAT(served.publish(RoundState::collecting), ElementsAre("ask 1 of 7.1"));
  EXPECT_TRUE(served.machine().is_waiting(kRound));
  EXPECT_THAT(served.ready(1), ElementsAre("begin 7.1 plan=2 until=100"));
  EXPECT_FALSE(served.machine().is_waiting(kRound));
}

TEST(ServedRounds, RowsThatWereThereAreSaidWhenItBeginsAndNotAgain) {
  Served served;
  served.publish(RoundState::collecting);
  EXPECT_THAT(served.ready(1, true), ElementsAre("begin 7.1 plan=2 until=100 over rows"));
  EXPECT_THAT(served.publish(RoundState::collecting), ElementsAre("serve 7.1 plan=2 until=100"));
}

TEST(ServedRounds, AnAttemptKeepsThePlanItBeganWith) {
  Served served;
  served.publish(RoundState::collecting);
  served.ready(1);
  EXPECT_THAT(served.publish(RoundState::collecting, kRound, "j", 200), ElementsAre("serve 7.1 plan=2 until=200"));
  EXPECT_THAT(served.publish(RoundState::frozen), ElementsAre("serve 7.1 plan=2 until=100"));
  EXPECT_THAT(served.publish(RoundState::finalizing), ElementsAre("serve 7.1 plan=2 until=100"));
}

TEST(ServedRounds, ARoundThatIsFoundFrozenIsServedWithoutAQuestion) {
  Served served;
  EXPECT_THAT(served.publish(RoundState::frozen), ElementsAre("serve 7.1 plan=1 until=100"));
}

TEST(ServedRounds, AStoreThatDoesNotAnswerIsAskedAgain) {
  Served served;
  served.publish(RoundState::collecting);
  EXPECT_THAT(served.not_ready(1), IsEmpty());
  EXPECT_TRUE(served.machine().is_waiting(kRound));
  EXPECT_EQ(served.machine().next_deadline(), Instant(Millis(500)));
  EXPECT_THAT(served.at(499), IsEmpty());
  EXPECT_THAT(served.at(500), ElementsAre("ask 2 of 7.1"));
  EXPECT_EQ(served.machine().next_deadline(), std::nullopt);
  EXPECT_THAT(served.ready(2), ElementsAre("begin 7.1 plan=2 until=100"));
}

TEST(ServedRounds, WhatIsExtendedBeforeTheStoreAnswersIsServedAsItIsThen) {
  Served served;
  served.publish(RoundState::collecting);
  EXPECT_THAT(served.publish(RoundState::collecting, kRound, "j", 200), IsEmpty()) << "one question at a time";
  EXPECT_THAT(served.ready(1), ElementsAre("begin 7.1 plan=2 until=200"));
}

TEST(ServedRounds, WhatIsExtendedBetweenTwoQuestionsIsAskedForAtOnce) {
  Served served;
  served.publish(RoundState::collecting);
  served.not_ready(1);
  EXPECT_THAT(served.publish(RoundState::collecting, kRound, "j", 200), ElementsAre("ask 2 of 7.1"));
  EXPECT_THAT(served.at(500), IsEmpty());
}

TEST(ServedRounds, AnAnswerForARoundThatIsOverServesNothing) {
  Served frozen;
  frozen.publish(RoundState::collecting);
  EXPECT_THAT(frozen.publish(RoundState::frozen), ElementsAre("serve 7.1 plan=1 until=100"));
  EXPECT_THAT(frozen.ready(1), IsEmpty());
  EXPECT_THAT(frozen.at(500), IsEmpty());

  Served withdrawn;
  withdrawn.publish(RoundState::collecting);
  EXPECT_THAT(withdrawn.withdraw(), ElementsAre("stop 7.1 opened at 0"));
  EXPECT_THAT(withdrawn.ready(1), IsEmpty());
  EXPECT_THAT(withdrawn.publish(RoundState::collecting), ElementsAre("ask 2 of 7.1"));
  EXPECT_THAT(withdrawn.ready(1), IsEmpty()) << "the answer to the first question";
  EXPECT_THAT(withdrawn.ready(2), ElementsAre("begin 7.1 plan=2 until=100"));
}

TEST(ServedRounds, ANewRoundReplacesAnotherOfItsJobAlone) {
  const RoundKey other{RoundId(9), Attempt(1)};
  Served served;
  served.publish(RoundState::selecting);
  served.publish(RoundState::selecting, other, "k");
  EXPECT_THAT(served.publish(RoundState::selecting, kNext), ElementsAre("stop 7.1 opened at 0", "tell j 0 wait at 0"));
  EXPECT_THAT(served.withdraw(kRound), IsEmpty()) << "it was replaced";
  EXPECT_THAT(served.withdraw(other), ElementsAre("stop 9.1 opened at 0"));
}

TEST(ServedRounds, SaysSinceWhenARoundWasThereAndWhetherItWasDone) {
  Served served;
  served.at(40);
  served.publish(RoundState::frozen);
  served.at(70);
  served.publish(RoundState::finalizing);
  EXPECT_THAT(served.withdraw(), ElementsAre("stop 7.1 opened at 40, done"));
}

// ---- What nodes say

TEST(ServedRounds, WhoWaitsIsToldToTheJobsOfTheirPopulation) {
  Served served;
  served.publish(RoundState::selecting);
  EXPECT_THAT(served.step(PoolHeard{Population("j"), 5}), ElementsAre("tell j 5 wait at 0"));
  EXPECT_THAT(served.step(PoolHeard{Population("k"), 9}), IsEmpty()) << "nobody asks for them yet";
  EXPECT_THAT(served.step(NodesCounted{2}), ElementsAre("tell j 5 wait at 2"));
  EXPECT_THAT(served.publish(RoundState::selecting, {RoundId(9), Attempt(1)}, "k"), ElementsAre("tell k 9 wait at 2"));
  EXPECT_THAT(served.step(NodesCounted{3}), ElementsAre("tell j 5 wait at 3", "tell k 9 wait at 3"));
  EXPECT_THAT(served.machine().waiting(),
              ElementsAre(testing::Pair(Population("j"), 5), testing::Pair(Population("k"), 9)));
}

TEST(ServedRounds, TicketsAreCountedUntilTheRoundIsOver) {
  Served served;
  EXPECT_THAT(served.step(TicketsHeard{kRound, 4}), IsEmpty()) << "of nothing";
  served.publish(RoundState::frozen);
  EXPECT_THAT(served.step(TicketsHeard{kRound, 4}), ElementsAre("tell j 4 tickets of 7.1"));
  EXPECT_EQ(served.machine().issued(kRound), 4u);
  EXPECT_EQ(served.machine().issued(kNext), 0u);
  served.withdraw();
  EXPECT_EQ(served.machine().issued(kRound), 0u);
}

TEST(ServedRounds, UpdatesAreNotedAndTold) {
  Served served;
  served.publish(RoundState::frozen);
  EXPECT_THAT(served.step(AcceptedHeard{kRound, 6}), ElementsAre("note 6 in round 3 of j", "tell j 6 accepted in 7.1"));
  EXPECT_THAT(served.step(AcceptedHeard{kNext, 6}), IsEmpty());
}

// ---- The clock

TEST(ServedRounds, AClockThatWasSetHasWhatIsServedSignedAnew) {
  Served served;
  EXPECT_TRUE(served.machine().is_empty());
  served.publish(RoundState::collecting);
  EXPECT_FALSE(served.machine().is_empty());
  EXPECT_THAT(served.step(ClockWasSet{}), IsEmpty()) << "nobody has it yet";
  served.ready(1);
  EXPECT_THAT(served.step(ClockWasSet{}), ElementsAre("sign 7.1 plan=2 until=100"));
  served.publish(RoundState::collecting, kRound, "j", 200);
  EXPECT_THAT(served.step(ClockWasSet{}), ElementsAre("sign 7.1 plan=2 until=200"));
}

TEST(ServedRounds, AnAssignmentEndsSoLongBehindItsDeadline) {
  const Now now{Instant(Millis(1'000)), WallTime(Millis(50'000))};
  EXPECT_EQ(assignment_end(Instant(Millis(4'000)), Millis(10), now), WallTime(Millis(53'010)));
  EXPECT_EQ(assignment_end(Instant(Millis(10)), Millis(10), now), WallTime(Millis(50'010))) << "it is over";
}

}  // namespace
}  // namespace coterie
