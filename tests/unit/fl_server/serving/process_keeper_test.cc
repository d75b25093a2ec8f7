#include "fl_server/serving/process_keeper.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = ProcessStep::Kind;

ProcessStep start(size_t process) { return {.kind = Kind::start, .process = process}; }
ProcessStep send(size_t process, uint64_t version) {
  return {.kind = Kind::send, .process = process, .version = version};
}
ProcessStep open(size_t process) { return {.kind = Kind::open, .process = process}; }

struct ProcessKeeperTest : testing::Test {
  std::vector<ProcessStep> steps() {
    auto steps = keeper.steps(now);
    keeper.check();
    return steps;
  }
  void serve(size_t process) {
    keeper.served(process);
    keeper.check();
  }
  void open_up(size_t process) {
    EXPECT_THAT(steps(), testing::Contains(open(process)));
    keeper.opened(process, now);
  }
  // All three serve version 1.
  void all_serve() {
    keeper.version_came(1);
    EXPECT_THAT(steps(), ElementsAre(start(0), send(0, 1)));
    serve(0);
    EXPECT_THAT(steps(), ElementsAre(open(0)));
    keeper.opened(0, now);
    EXPECT_THAT(steps(), ElementsAre(start(1), start(2), send(1, 1), send(2, 1)));
    for (const size_t process : {1u, 2u}) serve(process);
    EXPECT_THAT(steps(), ElementsAre(open(1), open(2)));
    for (const size_t process : {1u, 2u}) keeper.opened(process, now);
    EXPECT_THAT(steps(), IsEmpty());
    EXPECT_EQ(keeper.next_due(), Instant::max());
  }
  ProcessKeeper keeper{{.processes = 3}};
  Instant now{Millis(1'000)};
};

TEST_F(ProcessKeeperTest, TheFirstComesAloneAndItsEndIsTheEnd) {
  keeper.version_came(1);
  EXPECT_THAT(steps(), ElementsAre(start(0), send(0, 1)));
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_EQ(keeper.ended(0, now), std::nullopt);
  EXPECT_TRUE(keeper.has_failed());
  now += Millis(100'000);
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_EQ(keeper.next_due(), Instant::max());
}

TEST_F(ProcessKeeperTest, WithoutAVersionTheyOpenAndWait) {
  EXPECT_THAT(steps(), ElementsAre(start(0), open(0)));
  keeper.opened(0, now);
  EXPECT_THAT(steps(), ElementsAre(start(1), start(2), open(1), open(2)));
}

TEST_F(ProcessKeeperTest, OneThatEndsIsStartedAgainAfterADelayThatDoubles) {
  all_serve();
  for (const int64_t delay : {100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000}) {
    EXPECT_EQ(keeper.ended(1, now), std::nullopt);
    EXPECT_EQ(keeper.delay(1, now), Millis(delay));
    EXPECT_EQ(keeper.next_due(), now + Millis(delay));
    now += Millis(delay - 1);
    EXPECT_THAT(steps(), IsEmpty());
    now += Millis(1);
    EXPECT_THAT(steps(), ElementsAre(start(1), send(1, 1)));
  }
  serve(1);
  open_up(1);
  EXPECT_TRUE(keeper.serves(0) && keeper.serves(1) && keeper.serves(2));
  now += Millis(60'000);
  keeper.ended(1, now);
  EXPECT_EQ(keeper.delay(1, now), Millis(100)) << "it was steady";
}

TEST_F(ProcessKeeperTest, OneTriesAVersionBeforeTheOthersHaveIt) {
  all_serve();
  keeper.version_came(2);
  EXPECT_THAT(steps(), ElementsAre(send(0, 2)));
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_FALSE(keeper.is_everywhere(2));
  serve(0);
  EXPECT_THAT(steps(), ElementsAre(send(1, 2), send(2, 2)));
  serve(1);
  EXPECT_FALSE(keeper.is_everywhere(2));
  serve(2);
  EXPECT_TRUE(keeper.is_everywhere(2));
}

TEST_F(ProcessKeeperTest, WhatOneRefusesNobodyElseIsSent) {
  all_serve();
  keeper.version_came(2);
  steps();
  keeper.refused(0);
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_FALSE(keeper.holds(2));
}

TEST_F(ProcessKeeperTest, AVersionThatTwoDieOfIsGivenUp) {
  all_serve();
  keeper.version_came(2);
  EXPECT_THAT(steps(), ElementsAre(send(0, 2)));
  EXPECT_EQ(keeper.ended(0, now), std::nullopt);
  EXPECT_THAT(steps(), ElementsAre(send(1, 2))) << "it may have died of something else";
  EXPECT_EQ(keeper.ended(1, now), 2u);
  now += Millis(100);
  EXPECT_THAT(steps(), ElementsAre(start(0), start(1), send(0, 1), send(1, 1)));
}

TEST_F(ProcessKeeperTest, AVersionIsNotGivenUpForProcessesThatTheSystemDoesNotStart) {
  ProcessKeeper alone({.processes = 1});
  EXPECT_THAT(alone.steps(now), ElementsAre(start(0), open(0)));
  alone.opened(0, now);
  alone.ended(0, now);
  alone.version_came(1);
  for (const int64_t delay : {100, 200, 400, 800}) {
    EXPECT_EQ(alone.delay(0, now), Millis(delay));
    now += Millis(delay);
    EXPECT_THAT(alone.steps(now), ElementsAre(start(0), send(0, 1)));
    alone.not_started(0, now);
    alone.check();
    EXPECT_TRUE(alone.holds(1));
  }
}

TEST_F(ProcessKeeperTest, WhoComesLaterGetsTheNewestAndThePromoted) {
  all_serve();
  keeper.promoted(1);
  for (const uint64_t version : {2u, 3u, 4u}) {
    keeper.version_came(version);
    steps();
    serve(0);
    steps();
    serve(1);
    serve(2);
  }
  EXPECT_FALSE(keeper.holds(2));
  keeper.ended(2, now);
  now += Millis(100);
  EXPECT_THAT(steps(), ElementsAre(start(2), send(2, 1)));
  serve(2);
  EXPECT_THAT(steps(), ElementsAre(send(2, 3)));
  serve(2);
  EXPECT_THAT(steps(), ElementsAre(send(2, 4)));
  serve(2);
  open_up(2);
}

TEST_F(ProcessKeeperTest, WhatStoppedStartsNothing) {
  all_serve();
  keeper.stop();
  keeper.ended(0, now);
  now += Millis(100'000);
  EXPECT_THAT(steps(), IsEmpty());
}

}  // namespace
}  // namespace coterie
