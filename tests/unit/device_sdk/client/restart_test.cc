// The app is killed between steps: the session goes on as if nothing had happened, and no work is handed in
// twice.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

struct Story {
  ParticipantState end;
  int enrolled = 0, trained = 0, uploaded = 0;
};

// One round; before step i the app is killed if bit i of `kills` is set, and again before the same step if it
// is set in `kills_twice`.
Story live(uint32_t kills, uint32_t kills_twice = 0) {
  Dialogue d;
  Story story;
  for (int step = 0; d.state().rounds_done == 0 && step < 40; ++step) {
    if (kills >> step & 1) d.restart();
    if (kills_twice >> step & 1) d.restart();
    d.skip_wait();
    story.enrolled += d.is_next<DoEnroll>();
    story.trained += d.is_next<DoTrain>();
    story.uploaded += d.is_next<DoUpload>();
    d.tell(d.good_answer());
  }
  story.end = d.state();
  return story;
}

TEST(ParticipantRestart, BetweenAnyTwoStepsChangesNothingOfTheResult) {
  const Story calm = live(0);
  ASSERT_EQ(calm.end.rounds_done, 1u);
  for (uint32_t kills = 1; kills < 1u << 8; ++kills) {
    SCOPED_TRACE(kills);
    const Story story = live(kills, kills >> 1);
    EXPECT_EQ(story.end, calm.end);
    EXPECT_EQ(story.enrolled, 1);
    EXPECT_EQ(story.trained, 1);
    EXPECT_EQ(story.uploaded, 1);
  }
}

TEST(ParticipantRestart, BeforeEveryStepStillGetsToTheEnd) { EXPECT_EQ(live(UINT32_MAX).end, live(0).end); }

TEST(ParticipantRestart, WithAPlanThatIsNotTheAssignmentsFetchesItAgain) {
  Dialogue d;
  d.reach(ParticipantPhase::training);
  ParticipantState state = d.state();
  state.plan.back() ^= 1;
  ParticipantMachine machine({}, state);
  EXPECT_TRUE(std::holds_alternative<DoFetchPlan>(machine.next(state.wait_until)));
}

TEST(ParticipantRestart, InTheMiddleOfTrainingTrainsOnWithTheSameAssignment) {
  Dialogue d;
  d.reach(ParticipantPhase::training);
  const Assignment assignment = std::get<DoTrain>(d.next()).assignment;
  d.restart();
  EXPECT_EQ(std::get<DoTrain>(d.next()).assignment, assignment);
}

TEST(ParticipantRestart, AfterTrainingUploadsWithoutTrainingAgain) {
  Dialogue d;
  d.reach(ParticipantPhase::trained);
  d.restart();
  EXPECT_TRUE(d.is_next<DoUpload>());
}

TEST(ParticipantRestart, KeepsTheBackOffAndTheCountOfFailures) {
  Dialogue d;
  d.reach(ParticipantPhase::trained);
  for (int i = 0; i < 5; ++i) {
    d.tell(d.failed_answer(Error(ErrorCode::unavailable, "down")));
    const ParticipantState before = d.state();
    d.restart();
    EXPECT_EQ(d.state(), before);
    EXPECT_EQ(d.is_next<DoWait>(), d.wait() > Millis(0));
    d.skip_wait();
  }
  EXPECT_EQ(d.state().failures, 5u);
}

TEST(ParticipantRestart, TheSameSeedAndAnswersGiveTheSameWaitsWithOrWithoutARestart) {
  Dialogue calm(7), restless(7);
  for (Dialogue* d : {&calm, &restless}) d->reach(ParticipantPhase::idle);
  for (int i = 0; i < 20; ++i) {
    for (Dialogue* d : {&calm, &restless}) d->tell(d->failed_answer(Error(ErrorCode::timed_out, "silence")));
    restless.restart();
    EXPECT_EQ(calm.state(), restless.state()) << i;
    calm.skip_wait();
    restless.skip_wait();
  }
}

}  // namespace
}  // namespace coterie::test
