// What round machines ask for, over a store in memory and real threads: each request has one answer with its serial,
// and what has come true is told.
#include "fl_server/runtime/round_requests.h"

#include <gmock/gmock.h>

#include "tests/unit/fl_server/runtime/shell_world.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RoundRequestsTest : public testing::Test {
 protected:
  // Asks as the job's machine, in its first round, and waits.
  template <typename Answer>
  Answer ask(const RoundRequest& request) {
    answers_.clear();
    world_.at_core([&] { requests_.ask(job_.id, 1, AskRound{++serial_, request}); });
    world_.settle();
    EXPECT_EQ(answers_.size(), 1u);
    const Answer answer = std::get<Answer>(answers_.at(0));
    EXPECT_EQ(answer.serial, serial_);
    return answer;
  }
  RoundRecord open() {
    return *ask<RoundOpened>(OpenRound{1, std::nullopt, Attempt(1), world_.store.load_progress(job_.id)->head}).round;
  }
  bool move(const RoundKey& key, RoundState from, RoundState to, const std::string& reason = "") {
    return *ask<RoundMoved>(MoveRound{key, from, to, reason, 1}).won;
  }

  test::ShellWorld world_;
  JobRecord job_ = world_.create_job();
  uint64_t serial_ = 0;
  std::vector<RoundEvent> answers_;
  std::vector<FinalizeWanted> wanted_;
  RoundRequests requests_{world_.parts,
                          world_.loops,
                          {.answer = [this](const JobId&, const RoundEvent& event) { answers_.push_back(event); },
                           .finalize = [this](const FinalizeWanted& wanted) { wanted_.push_back(wanted); }}};
};

TEST_F(RoundRequestsTest, ARoundThatIsOpenedIsTold) {
  EXPECT_EQ(ask<ProgressLoaded>(LoadProgress{}).progress->job.id, job_.id);
  EXPECT_THAT(world_.take_events(), IsEmpty());
  const RoundRecord round = open();
  EXPECT_EQ(round.number, 1u);
  EXPECT_THAT(world_.take_events(), ElementsAre("round_opened"));
}

TEST_F(RoundRequestsTest, ARoundThatHasGoneOnSinceIsNoNews) {
  const RoundRecord round = open();
  EXPECT_TRUE(move(round.key, RoundState::selecting, RoundState::collecting));
  world_.take_events();
  EXPECT_EQ(open().key, round.key) << "the request is idempotent";
  EXPECT_THAT(world_.take_events(), IsEmpty());
}

TEST_F(RoundRequestsTest, AMoveIsWonOnceAndAFailureTold) {
  const RoundRecord round = open();
  EXPECT_TRUE(move(round.key, RoundState::selecting, RoundState::collecting));
  EXPECT_FALSE(move(round.key, RoundState::selecting, RoundState::collecting)) << "another was faster";
  world_.accept(round.key, test::device(1));
  EXPECT_EQ(*ask<AcceptedCounted>(CountAccepted{round.key}).total, 1u);
  world_.take_events();
  EXPECT_TRUE(move(round.key, RoundState::collecting, RoundState::failed, "too few"));
  EXPECT_THAT(world_.take_events(), ElementsAre("round_failed"));
}

TEST_F(RoundRequestsTest, WhatTheStoreRefusesIsAnAnswer) {
  world_.at_core([&] { requests_.ask(JobId("nobody's"), 0, AskRound{7, LoadProgress{}}); });
  world_.settle();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_ERROR(std::get<ProgressLoaded>(answers_[0]).progress, ErrorCode::not_found, "no such job");
}

TEST_F(RoundRequestsTest, ToFinalizeIsNoRequestToTheStore) {
  FinalizeRound request;
  request.job = job_;
  world_.at_core([&] { requests_.ask(job_.id, 1, AskRound{9, request}); });
  world_.settle();
  EXPECT_THAT(answers_, IsEmpty());
  ASSERT_EQ(wanted_.size(), 1u);
  EXPECT_EQ(wanted_[0].serial, 9u);
}

TEST_F(RoundRequestsTest, ACommitTellsWhatIsDoneAndRemovesItsPartialSums) {
  const RoundKey key = open().key;
  move(key, RoundState::selecting, RoundState::collecting);
  world_.accept(key, test::device(1));
  move(key, RoundState::collecting, RoundState::frozen);
  move(key, RoundState::frozen, RoundState::finalizing);
  EXPECT_EQ(world_.partials.list(Millis(0))->size(), 1u);
  world_.take_events();

  FinalizedRound done;
  done.key = key;
  done.model.job = job_.id;
  done.model.version = ModelVersion(1);
  done.totals.updates = 1;
  const CommitRound commit{.round = done, .number = 1, .opens_next = true, .completes_job = false};
  EXPECT_EQ(ask<RoundCommitted>(commit).progress->job.rounds_done, 1u);
  EXPECT_THAT(world_.take_events(), ElementsAre("round_done", "round_opened"));
  EXPECT_THAT(*world_.partials.list(Millis(0)), IsEmpty());
  EXPECT_THAT(*world_.store.list_finished_partials(10), IsEmpty());
}

TEST_F(RoundRequestsTest, AJobThatFailsIsTold) {
  const JobFailed failed = ask<JobFailed>(FailJob{"no attempt is left"});
  EXPECT_OK(failed.done);
  EXPECT_THAT(world_.take_events(), ElementsAre("job_failed"));
  EXPECT_EQ(world_.store.get_job(job_.id)->state, JobState::failed);
}

}  // namespace
}  // namespace coterie
