// A broken invariant of the round machine is named by its sentence, in every build that calls check().
#include <gtest/gtest.h>

#include "scheduler/round/round_machine.h"

namespace coterie {

// Breaks what no event can break.
struct RoundTamperer {
  static void forget_the_request(RoundMachine& machine) { machine.pending_.reset(); }
  static void wake_for_nothing(RoundMachine& machine) { machine.deadline_ = Instant(Millis(1)); }
  static void freeze_behind_its_back(RoundMachine& machine) { machine.round_->state = RoundState::frozen; }
};

namespace {

class RoundCheckDeathTest : public testing::Test {
 protected:
  RoundCheckDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    machine_.start();
  }
  void load(RoundState state) {
    JobProgress progress;
    progress.job.id = JobId("j");
    progress.job.value_count = 5;
    progress.latest.emplace();
    progress.latest->key = {RoundId(3), Attempt(1)};
    progress.latest->state = state;
    machine_.step(ProgressLoaded{1, progress}, Instant(Millis(0)));
    machine_.check();
  }

  RoundMachine machine_{JobId("j")};
};

TEST_F(RoundCheckDeathTest, APhaseThatAwaitsNoAnswerIsNamed) {
  RoundTamperer::forget_the_request(machine_);
  EXPECT_DEATH(machine_.check(),
               "round_machine_check.cc:[0-9]+: assertion failed: a phase waits for the answer to its own request");
}

TEST_F(RoundCheckDeathTest, ADeadlineWithoutAnOwnerIsNamed) {
  RoundTamperer::wake_for_nothing(machine_);
  EXPECT_DEATH(machine_.check(), "every deadline belongs to a phase that waits for it");
}

TEST_F(RoundCheckDeathTest, ARoundInAnotherStateThanItsPhaseIsNamed) {
  load(RoundState::collecting);
  RoundTamperer::freeze_behind_its_back(machine_);
  EXPECT_DEATH(machine_.check(), "the phase and the state of the round agree");
}

}  // namespace
}  // namespace coterie
