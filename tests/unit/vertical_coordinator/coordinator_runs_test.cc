// How a job comes to run, is dealt to, is paused and goes on.
#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/machine_fixture.h"

namespace coterie::vertical {
namespace {

using test::CoordinatorMachineTest;
using test::read_terms;

TEST_F(CoordinatorMachineTest, ARunWithoutReportsIsPaused) {
  approve_all();
  const auto [label, feature] = run();
  machine_.closed(label, now_);
  machine_.closed(feature, now_);
  EXPECT_EQ(refusal(label_, report(true)), "accepted");
  pass(small().report_time);
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "party_lost");
  EXPECT_EQ(refusal(feature_, report(true)), "accepted") << "it had nothing else left to do";
  EXPECT_EQ(job().state, JobState::done);
  EXPECT_FALSE(machine_.next_deadline());
}

TEST_F(CoordinatorMachineTest, GoesOnWhenBothHaveComeBack) {
  approve_all();
  auto [label, feature] = run();
  machine_.relayed(label, 5, now_);
  machine_.closed(label, now_);
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "already_joined") << "the other connection is still there";
  machine_.closed(feature, now_);
  // Who comes back does not wait for reports.
  EXPECT_EQ(refusal(feature_, about(RequestKind::join)), "waits");
  EXPECT_EQ(effects_.store.at(0).state, JobState::paused);
  EXPECT_EQ(refusal(feature_, about(RequestKind::join)), "already_joined");
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().reason, "");
  ASSERT_EQ(effects_.pairs.size(), 1u);
  EXPECT_EQ(job().parties[0].relayed_bytes, 5u);

  // Nobody comes back: it fails by the reason that it was paused for.
  machine_.closed(effects_.pairs[0].first, now_);
  machine_.closed(effects_.pairs[0].second, now_);
  pass(small().report_time);
  EXPECT_EQ(machine_.next_deadline(), now_.instant + small().resume_time);
  pass(small().resume_time);
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "party_lost");
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "job_over");
}

TEST_F(CoordinatorMachineTest, EitherPartyPausesAndTheSameOneResumes) {
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "not_approved");
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  EXPECT_EQ(refusal(feature_, approval(feature_)), "accepted");
  const auto [label, feature] = run();
  EXPECT_EQ(refusal(stranger_, about(RequestKind::pause)), "not_a_party");
  EXPECT_EQ(refusal(feature_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "feature_party_paused");
  EXPECT_FALSE(machine_.next_deadline()) << "it may take its time";
  EXPECT_EQ(refusal(feature_, about(RequestKind::pause)), "accepted") << "again";
  EXPECT_TRUE(effects_.store.empty());
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(feature_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "label_party_paused") << "the other one still holds it";
  EXPECT_EQ(refusal(feature_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::paused);

  // A party that comes waits until nobody holds it.
  EXPECT_EQ(refusal(feature_, about(RequestKind::join)), "waits");
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::approved);
  EXPECT_EQ(job().reason, "");
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(refusal(label_, report(false)), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "job_over");
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "job_over");
}

TEST_F(CoordinatorMachineTest, ResumingPairsWhoWait) {
  CoordinatorLimits limits = small();
  limits.waiting_max = 2;
  machine_ = CoordinatorMachine(limits, read_terms, {});
  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  const ConnectionId label = connection_;
  EXPECT_EQ(refusal(feature_, about(RequestKind::join)), "waits");
  const ConnectionId feature = connection_;
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "accepted");
  EXPECT_TRUE(heard(label) && heard(feature));
  ASSERT_EQ(effects_.pairs.size(), 1u);
  EXPECT_EQ(effects_.pairs[0].second, feature);
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(CoordinatorMachineTest, ResumingWithoutAPlaceSendsOneOfTwoAway) {
  CoordinatorLimits limits = small();
  limits.waiting_max = 2;
  machine_ = CoordinatorMachine(limits, read_terms, {});
  approve_all('K');
  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  const ConnectionId label = connection_;
  EXPECT_EQ(refusal(feature_, about(RequestKind::join)), "waits");
  const ConnectionId feature = connection_;
  // Another job takes the only place, which nobody else waits for.
  machine_.closed(label, now_);
  const auto [other_label, other_feature] = run('K');
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  const ConnectionId again = connection_;
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "accepted");
  EXPECT_TRUE(effects_.pairs.empty());
  EXPECT_EQ(job().state, JobState::approved);
  ASSERT_TRUE(heard(again)) << "who came last comes again";
  EXPECT_EQ(heard(again)->error().reason(), "pairs_full");
  EXPECT_FALSE(heard(feature));
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "pairs_full");
  machine_.closed(other_label, now_);
  machine_.closed(other_feature, now_);
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(CoordinatorMachineTest, AJobThatWasPausedAndResumedIsWaitedForAsOneThatIsLost) {
  approve_all();
  const auto [label, feature] = run();
  machine_.relayed(label, 5, now_);
  EXPECT_EQ(refusal(label_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::approved);
  EXPECT_EQ(machine_.next_deadline(), now_.instant + small().resume_time);
  // Nor does a restart of the coordinator forget it.
  machine_ = CoordinatorMachine(small(), read_terms, {job()});
  machine_.begin(now_);
  EXPECT_EQ(machine_.next_deadline(), now_.instant + small().resume_time);
  pass(small().resume_time);
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "party_lost");
  // One that never ran may wait for its parties.
  approve_all('K');
  EXPECT_EQ(refusal(label_, about(RequestKind::pause, 'K')), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::resume, 'K')), "accepted");
  EXPECT_FALSE(machine_.next_deadline());
}

TEST_F(CoordinatorMachineTest, AJobWhoseDealingIsLostFailsAlone) {
  approve_all();
  const auto [label, feature] = run();
  effects_ = machine_.dealer_lost({'J'}, now_);
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "dealer_lost");
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
  EXPECT_TRUE(machine_.dealer_lost({'J'}, now_).store.empty()) << "it is over";
  EXPECT_TRUE(machine_.dealer_lost({'K'}, now_).store.empty()) << "there is none";
}

TEST_F(CoordinatorMachineTest, APartyThatFailsFailsTheJob) {
  approve_all();
  const auto [label, feature] = run();
  EXPECT_EQ(refusal(label_, report(false)), "accepted");
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "peer_silent");
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
  EXPECT_TRUE(machine_.closed(label, now_).store.empty());
}

TEST_F(CoordinatorMachineTest, DealsOnceToBothPartiesOfARun) {
  const auto deal = [](uint32_t rows) {
    Request request = about(RequestKind::deal);
    request.shape = {.rows = rows, .label_columns = 2, .feature_columns = 3, .batch = 16, .epochs = 1};
    request.session = digest('S');
    request.first_step = 2;
    return request;
  };
  approve_all();
  EXPECT_EQ(refusal(label_, deal(100)), "not_running");
  run();
  EXPECT_EQ(refusal(stranger_, deal(100)), "not_a_party");
  EXPECT_EQ(refusal(label_, deal(100)), "waits");
  ConnectionId label = connection_;
  EXPECT_EQ(refusal(label_, deal(100)), "already_joined");
  // It goes and comes again.
  machine_.closed(label, now_);
  EXPECT_EQ(refusal(label_, deal(100)), "waits");
  label = connection_;
  EXPECT_EQ(refusal(feature_, deal(101)), "deal_differs");
  ASSERT_TRUE(heard(label));
  EXPECT_EQ(heard(label)->error().reason(), "deal_differs") << "both hear of it";

  for (int difference = 0; difference < 3; ++difference) {
    Request other = deal(100);
    if (difference == 0) other.session = digest('T');
    if (difference == 1) other.first_step = 3;
    if (difference == 2) other.is_product = true;
    EXPECT_EQ(refusal(label_, deal(100)), "waits");
    EXPECT_EQ(refusal(feature_, other), "deal_differs");
  }

  EXPECT_EQ(refusal(feature_, deal(100)), "waits");
  const ConnectionId feature = connection_;
  EXPECT_EQ(refusal(label_, deal(100)), "accepted");
  label = connection_;
  EXPECT_TRUE(heard(feature));
  ASSERT_EQ(effects_.deals.size(), 1u);
  EXPECT_EQ(effects_.deals[0].label, label);
  EXPECT_EQ(effects_.deals[0].feature, feature);
  EXPECT_EQ(effects_.deals[0].shape, deal(100).shape);
  EXPECT_EQ(effects_.deals[0].job, job().job);
  EXPECT_EQ(effects_.deals[0].session, digest('S'));
  EXPECT_EQ(effects_.deals[0].first_step, 2u);
  EXPECT_TRUE(effects_.store.empty());
  EXPECT_EQ(machine_.spoke_early(feature, now_).closes, std::vector{feature}) << "who is dealt to says nothing";
  EXPECT_EQ(refusal(feature_, deal(100)), "already_joined") << "once a run";
  EXPECT_EQ(refusal(label_, report(false)), "accepted");
  EXPECT_EQ(effects_.closes.size(), 3u) << "both of the pair, and whoever is still dealt to";
  EXPECT_EQ(refusal(label_, deal(100)), "job_over");
}

}  // namespace
}  // namespace coterie::vertical
