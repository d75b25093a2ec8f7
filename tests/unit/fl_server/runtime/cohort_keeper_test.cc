// What devices of masked attempts ask of their owner, over a store in memory, real threads and real clients: what comes
// of an attempt is attempt_machine_test's; here it is whom the answers reach, and what the store and the pool are asked
// for.
#include "fl_server/runtime/cohort_keeper.h"

#include <gmock/gmock.h>

#include "base/os/clock.h"
#include "fl_server/core/attempt_terms.h"
#include "tests/unit/fl_server/core/cohort_device.h"
#include "tests/unit/fl_server/runtime/shell_world.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kDevices = 4;

class CohortKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    served_ = {.round = {}, .begins = true, .has_accepted = false};
    RoundNotice& notice = served_.round.notice;
    notice.job = job_.id;
    notice.population = Population("p");
    notice.key = world_.open_round(job_).key;
    notice.state = RoundState::collecting;
    notice.goal_count = kDevices;
    notice.plan = plan_of(job_.spec.horizontal(), job_.id, job_.values());
    served_.round.rules = {.cohort_count = 1,
                           .adverts_goal = kDevices,
                           .cohort_phase_max = Millis(60'000),
                           .deadline = os::monotonic_now() + Millis(600'000)};
    world_.move(key(), RoundState::selecting, RoundState::collecting);
    for (uint32_t i = 0; i < kDevices; ++i) devices_.push_back(test::cohort_device(*terms_of(notice).session, i));
  }
  const RoundKey& key() const { return served_.round.notice.key; }
  void serve() {
    world_.at_core([this] { keeper_.serve(served_); });
  }
  void step(const LiveEvent& event) {
    world_.at_core([&] { keeper_.step(event); });
    world_.settle();
  }
  FinalizeRound wanted() const {
    FinalizeRound request;
    request.job = job_;
    request.round.key = key();
    request.round.job = job_.id;
    return request;
  }

  // ---- Devices: each answer comes once
  Status say(const test::CohortDevice& device, const CohortMessage& message) {
    std::vector<Status> answers;
    keeper_.cohort_receive(key(), device.id, device.signer->public_key(), message,
                           [&](Status answer) { answers.push_back(std::move(answer)); });
    world_.settle();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? Status(Error(ErrorCode::internal, "no answer")) : answers[0];
  }
  template <typename Message>
  Message ask(const test::CohortDevice& device, CohortQuestion question) {
    std::vector<Result<CohortReply>> answers;
    keeper_.cohort_ask(key(), device.id, question, Millis(0),
                       [&](Result<CohortReply> answer) { answers.push_back(std::move(answer)); });
    world_.settle();
    EXPECT_EQ(answers.size(), 1u);
    EXPECT_OK(answers.at(0));
    return std::get<Message>(*answers.at(0));
  }
  Status arrive(const test::CohortDevice& device, const MaskedInput& input) {
    std::vector<Status> answers;
    keeper_.cohort_input_arrived(key(), device.id, input, [&](Status answer) { answers.push_back(std::move(answer)); });
    world_.settle();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? Status(Error(ErrorCode::internal, "no answer")) : answers[0];
  }
  // Up to masked updates whose headers have come.
  void mask_all() {
    for (test::CohortDevice& device : devices_) EXPECT_OK(say(device, device.client->advert()));
    for (test::CohortDevice& device : devices_) {
      EXPECT_OK(say(device, *device.client->share(ask<RosterView>(device, CohortQuestion::roster))));
    }
    for (test::CohortDevice& device : devices_) {
      const auto masking = device.client->mask(ask<ShareInbox>(device, CohortQuestion::share_inbox));
      ASSERT_OK(masking);
      EXPECT_OK(arrive(device, masking->head()));
    }
  }

  test::ShellWorld world_;
  JobRecord job_ = world_.create_job(SecurityLevel::masked);
  ServePublished served_;
  std::vector<test::CohortDevice> devices_;
  std::vector<TellJob> told_;
  std::vector<uint64_t> due_;
  CohortKeeper keeper_{{},
                       world_.parts,
                       world_.loops,
                       {.tell = [this](const TellJob& told) { told_.push_back(told); },
                        .tell_nodes = [this](const TellNodesDue& due) { due_.push_back(due.total); }}};
};

TEST_F(CohortKeeperTest, ADeviceOfAnAttemptThatIsNotThereIsSentAway) {
  EXPECT_ERROR(say(devices_[0], devices_[0].client->advert()), ErrorCode::round_closed, "check in again");
  EXPECT_ERROR(arrive(devices_[0], {}), ErrorCode::round_closed, "check in again");
}

TEST_F(CohortKeeperTest, WhoIsHeldIsAnsweredOnceWhenTheAttemptIsOver) {
  serve();
  EXPECT_OK(say(devices_[0], devices_[0].client->advert()));
  int answers = 0;
  keeper_.cohort_ask(key(), devices_[0].id, CohortQuestion::roster, Millis(600'000),
                     [&](const Result<CohortReply>& answer) {
                       ++answers;
                       EXPECT_ERROR(answer, ErrorCode::round_closed, "check in again");
                     });
  world_.settle();
  EXPECT_EQ(answers, 0) << "it waits for the others";
  EXPECT_TRUE(keeper_.next_deadline().has_value());
  step(StopServing{key(), RoundState::collecting, {}});
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(keeper_.next_deadline(), std::nullopt);
}

TEST_F(CohortKeeperTest, RowsThatAnotherNodeWroteAreFoundInTheStore) {
  serve();
  mask_all();
  EXPECT_THAT(due_, ElementsAre(kDevices)) << "nodes hear how many inputs come at most";
  EXPECT_THAT(told_, IsEmpty());
  for (const test::CohortDevice& device : devices_) world_.accept(key(), device.id);
  step(RowsMayBeThere{key()});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].job, job_.id);
  EXPECT_EQ(std::get<UpdatesExpected>(told_[0].event).total, kDevices);
}

TEST_F(CohortKeeperTest, AnAttemptWithRowsOfAnEarlierLifeIsLost) {
  served_.has_accepted = true;
  serve();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(std::get<AttemptLost>(told_[0].event).key, key());
}

TEST_F(CohortKeeperTest, AClaimOfAnAttemptThatIsNotThereEndsWithItsLoss) {
  step(FinalizeWanted{3, wanted()});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(std::get<AttemptLost>(told_[0].event).key, key());
}

TEST_F(CohortKeeperTest, ASumWithoutMasksIsFinalizedByThePoolAndItsFailureTold) {
  FinalizeRound open = wanted();
  open.job.spec.horizontal().privacy.level = SecurityLevel::none;
  step(FinalizeWanted{3, open});
  ASSERT_EQ(told_.size(), 1u);
  const auto& done = std::get<RoundFinalized>(told_[0].event);
  EXPECT_EQ(done.serial, 3u);
  EXPECT_FALSE(done.round.has_value()) << "there is no update";
  EXPECT_THAT(world_.take_events(), ElementsAre("finalize_failed"));
}

TEST_F(CohortKeeperTest, ADeviceHasOnePlaceAndTheCohortGoesOnWithoutASecond) {
  serve();
  EXPECT_OK(say(devices_[0], devices_[0].client->advert()));
  test::CohortDevice stranger = test::cohort_device(*terms_of(served_.round.notice).session, 9);
  stranger.id = devices_[0].id;
  EXPECT_ERROR(say(stranger, stranger.client->advert()), ErrorCode::permission_denied, "with another key");
  for (uint32_t i = 1; i < kDevices; ++i) EXPECT_OK(say(devices_[i], devices_[i].client->advert()));
  ask<RosterView>(devices_[0], CohortQuestion::roster);
}

}  // namespace
}  // namespace coterie
