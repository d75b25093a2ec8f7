// A broken invariant of the attempt machine is named by its sentence, in every build that calls check().
#include <gtest/gtest.h>

#include "tests/unit/fl_server/core/attempt_script.h"

namespace coterie {
namespace {

class AttemptCheckDeathTest : public testing::Test {
 protected:
  AttemptCheckDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  AttemptScript attempt_;
};

TEST_F(AttemptCheckDeathTest, AQuestionThatIsHeldTwiceIsNamed) {
  attempt_.begin();
  attempt_.advertise_all(1);
  attempt_.ask(0, CohortQuestion::roster);
  const auto hold_twice = [&] {
    AttemptTamperer::hold_twice(attempt_.machine());
    attempt_.machine().check();
  };
  EXPECT_DEATH(hold_twice(), "attempt_machine_check.cc:[0-9]+: assertion failed: a question is held once");
  const auto sleep_on = [&] {
    AttemptTamperer::sleep_on(attempt_.machine());
    attempt_.machine().check();
  };
  EXPECT_DEATH(sleep_on(), "the machine wakes for the first question whose time is up");
}

TEST_F(AttemptCheckDeathTest, WhatNobodyWasToldIsNamed) {
  attempt_.begin();
  attempt_.advertise_all();
  attempt_.share_all();
  const auto forget = [&] {
    AttemptTamperer::forget_what_was_told(attempt_.machine());
    attempt_.machine().check();
  };
  EXPECT_DEATH(forget(), "nodes have heard how many inputs are due");
}

TEST_F(AttemptCheckDeathTest, AnInputAndAFailureThatAreForgottenAreNamed) {
  attempt_.aggregate();
  const auto lose = [&] {
    AttemptTamperer::lose_an_input(attempt_.machine());
    attempt_.machine().check();
  };
  EXPECT_DEATH(lose(), "an input that was accepted came before");
  attempt_.freeze();
  attempt_.listed({}, 3);
  const auto claim = [&] {
    AttemptTamperer::claim_unheard(attempt_.machine());
    attempt_.machine().check();
  };
  EXPECT_DEATH(claim(), "a failure waits only while the round moves from frozen to claimed");
}

}  // namespace
}  // namespace coterie
