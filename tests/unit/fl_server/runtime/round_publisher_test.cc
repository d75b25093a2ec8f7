// How a leader's rounds reach the nodes, over a store in memory and real threads: when a round is served is
// served_rounds_test's; here it is what is looked up, signed, stored and told.
#include "fl_server/runtime/round_publisher.h"

#include <gmock/gmock.h>

#include "base/os/clock.h"
#include "secure/crypto/digest.h"
#include "secure/identity/manifest.h"
#include "tests/unit/fl_server/runtime/shell_world.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct HeardBoard final : RoundBoard {
  void serve(const RoundNotice& round) override { rounds.push_back(round); }
  void withdraw(const RoundKey& key) override { withdrawn.push_back(key); }
  void updates_due(const RoundKey&, uint64_t) override {}
  std::vector<RoundNotice> rounds;
  std::vector<RoundKey> withdrawn;
};

class RoundPublisherTest : public testing::Test {
 protected:
  void SetUp() override {
    const RoundRecord round = world_.open_round(job_);
    published_.notice.job = job_.id;
    published_.notice.population = Population("p");
    published_.notice.key = round.key;
    published_.notice.number = round.number;
    published_.notice.plan = plan_of(job_.spec.horizontal(), job_.id, job_.values());
    const Bytes plan = encode(published_.notice.plan);
    Assignment& assignment = published_.notice.assignment;
    assignment.job = job_.id;
    assignment.round = round.key;
    assignment.plan = *world_.blobs.put(plan);
    assignment.plan_bytes = static_cast<uint32_t>(plan.size());
    assignment.model_bytes = 1;
    published_.rules.deadline = os::monotonic_now() + Millis(60'000);
    publisher_.start(board_);
  }
  void publish(RoundState state) {
    published_.notice.state = state;
    world_.at_core([&] { publisher_.step(published_); });
    world_.settle();
  }
  // Whether a device that trusts the server would believe it.
  Status verify(const Assignment& assignment) const {
    return verify_manifest(assignment, {.newest = world_.signer->public_key(), .retiring = {}}, os::wall_now());
  }

  test::ShellWorld world_;
  JobRecord job_ = world_.create_job();
  PublishRound published_;
  HeardBoard board_;
  std::vector<std::string> calls_;
  RoundPublisher publisher_{Millis(10'000),
                            world_.parts,
                            world_.loops,
                            {.tell = [this](const TellJob&) { calls_.emplace_back("tell"); },
                             .serves =
                                 [this](const ServePublished& served) {
                                   EXPECT_THAT(board_.rounds, testing::SizeIs(served.begins ? 0 : 1))
                                       << "before the nodes hear of it";
                                   calls_.emplace_back(served.has_accepted ? "serves, over rows" : "serves");
                                 },
                             .served = [this] { calls_.emplace_back("served"); },
                             .stopped = [this](const StopServing&) { calls_.emplace_back("stopped"); }}};
};

TEST_F(RoundPublisherTest, ARoundThatCollectsIsServedWithASignedAssignment) {
  publish(RoundState::selecting);
  EXPECT_THAT(board_.rounds, IsEmpty());
  publish(RoundState::collecting);
  ASSERT_EQ(board_.rounds.size(), 1u);
  EXPECT_OK(verify(board_.rounds[0].assignment));
  EXPECT_EQ(board_.rounds[0].assignment.plan, published_.notice.assignment.plan) << "it is the job's";
  EXPECT_THAT(calls_, ElementsAre("tell", "serves", "served"));
  EXPECT_THAT(world_.take_events(), ElementsAre("round_collecting"));
}

TEST_F(RoundPublisherTest, ItsAssignmentOutlivesTheDeadlineByTheLeeway) {
  publish(RoundState::collecting);
  const Millis left = board_.rounds.at(0).assignment.not_after - os::wall_now();
  EXPECT_GT(left, Millis(50'000));
  EXPECT_LE(left, Millis(70'000));
}

TEST_F(RoundPublisherTest, AnAttemptWithTermsOfItsOwnHasAPlanOfItsOwnInTheStore) {
  const Digest jobs = published_.notice.assignment.plan;
  published_.notice.plan.training.optimizer.learning_rate *= 0.5f;
  publish(RoundState::collecting);
  const Assignment& assignment = board_.rounds.at(0).assignment;
  EXPECT_NE(assignment.plan, jobs);
  const Bytes stored = world_.blobs.bytes_of(assignment.plan);
  EXPECT_EQ(stored.size(), assignment.plan_bytes);
  const Result<Plan> plan = decode_plan(stored);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->training.optimizer.learning_rate, published_.notice.plan.training.optimizer.learning_rate);
}

TEST_F(RoundPublisherTest, APlanThatCannotBeMadeLeavesTheRoundUnservedUntilItCan) {
  const Bytes plan = world_.blobs.bytes_of(published_.notice.assignment.plan);
  ASSERT_OK(world_.blobs.remove(published_.notice.assignment.plan));
  published_.notice.plan.training.optimizer.learning_rate *= 0.5f;
  publish(RoundState::collecting);
  EXPECT_THAT(board_.rounds, IsEmpty());
  EXPECT_TRUE(publisher_.next_deadline().has_value()) << "it asks again";
  ASSERT_OK(world_.blobs.put(plan));
  world_.at_core([&] { publisher_.step(published_); });
  world_.settle();
  EXPECT_EQ(board_.rounds.size(), 1u);
}

TEST_F(RoundPublisherTest, RowsOfAnEarlierLifeAreSaidWhenItBegins) {
  world_.move(published_.notice.key, RoundState::selecting, RoundState::collecting);
  world_.accept(published_.notice.key, test::device(1));
  publish(RoundState::collecting);
  EXPECT_THAT(calls_, ElementsAre("serves, over rows", "served"));
}

TEST_F(RoundPublisherTest, ARoundThatIsExtendedIsServedAgainAndSaysSo) {
  publish(RoundState::collecting);
  world_.take_events();
  published_.rules.deadline += Millis(60'000);
  publish(RoundState::collecting);
  ASSERT_EQ(board_.rounds.size(), 2u);
  EXPECT_GT(board_.rounds[1].assignment.not_after, board_.rounds[0].assignment.not_after);
  EXPECT_OK(verify(board_.rounds[1].assignment));
  EXPECT_THAT(world_.take_events(), ElementsAre("round_extended"));
}

TEST_F(RoundPublisherTest, AClockThatWasSetHasAssignmentsSignedAnew) {
  publish(RoundState::collecting);
  world_.at_core([&] { publisher_.step(ClockWasSet{}); });
  ASSERT_EQ(board_.rounds.size(), 2u);
  EXPECT_OK(verify(board_.rounds[1].assignment));
}

TEST_F(RoundPublisherTest, WhatStopsIsWithdrawnAndItsMovesAreTold) {
  publish(RoundState::collecting);
  world_.take_events();
  for (const RoundState state : {RoundState::collecting, RoundState::frozen, RoundState::finalizing}) {
    published_.notice.state = state;
    publisher_.tell_moved(published_.notice);
  }
  EXPECT_THAT(world_.take_events(), ElementsAre("round_frozen", "round_finalizing"));
  world_.at_core([&] { publisher_.step(WithdrawRound{published_.notice.key}); });
  EXPECT_THAT(board_.withdrawn, ElementsAre(published_.notice.key));
  EXPECT_EQ(calls_.back(), "stopped");
  EXPECT_EQ(publisher_.next_deadline(), std::nullopt) << "there is nothing to sign";
}

}  // namespace
}  // namespace coterie
