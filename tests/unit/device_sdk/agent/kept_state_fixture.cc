#include "tests/unit/device_sdk/agent/kept_state_fixture.h"

namespace coterie::test {

void KeptStateTest::expect_to_go_on_from_round_to_round(const std::function<void()>& more) {
  std::vector<float> kept;
  for (size_t round = 0; round < models_.size(); ++round) {
    server_.begin_round(models_[round]);
    step_until(Activity::uploaded);
    std::vector<float> none;
    if (round > 0) EXPECT_NE(sent(), expected(models_[round], none));
    EXPECT_EQ(sent(), expected(models_[round], kept)) << "round " << round;
    if (more) more();
  }
}

void KeptStateTest::expect_nothing_of_a_lost_update() {
  std::vector<float> kept;
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[0], kept));
  server_.begin_round(models_[1]);
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
  ASSERT_TRUE(step_until(Activity::uploaded).error);
  EXPECT_EQ(state_files().size(), 2u) << "what was staged is gone, with its key";
  server_.begin_round(models_[2]);
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[2], kept)) << "as if the second round had not been";
}

void KeptStateTest::expect_the_same_through_a_death_before_every_step() {
  std::vector<float> kept;
  for (size_t round = 0; round < models_.size(); ++round) {
    if (round > 0) server_.begin_round(models_[round]);
    for (int lives = 0; server_.uploads().size() <= round && lives < 200; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(server_.uploads().size(), round + 1);
    EXPECT_EQ(sent(), expected(models_[round], kept)) << "to the bit";
  }
}

}  // namespace coterie::test
