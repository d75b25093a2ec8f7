#include "vertical/coordinator/coordinator_machine.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/machine_fixture.h"

namespace coterie::vertical {
namespace {

using test::CoordinatorMachineTest;
using test::read_terms;

TEST_F(CoordinatorMachineTest, LeadsAJobFromItsSubmissionToItsEnd) {
  EXPECT_EQ(refusal(feature_, submit()), "accepted");
  ASSERT_EQ(effects_.store.size(), 1u);
  EXPECT_EQ(effects_.store[0].state, JobState::created);
  EXPECT_EQ(refusal(label_, submit()), "accepted") << "again, by the other one";
  EXPECT_TRUE(effects_.store.empty());

  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "not_approved");
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  EXPECT_EQ(job().state, JobState::created);
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "not_approved");
  EXPECT_EQ(refusal(feature_, approval(feature_)), "accepted");
  EXPECT_EQ(effects_.store.at(0).state, JobState::approved);

  EXPECT_EQ(refusal(feature_, report(true)), "not_running");
  const auto [label, feature] = run();
  EXPECT_EQ(effects_.store.at(0).state, JobState::running);
  EXPECT_TRUE(heard(label) && heard(feature)) << "both hear that they are paired";
  machine_.relayed(label, 100, now_);
  machine_.relayed(feature, 7, now_);
  machine_.relayed(label, 1, now_);
  machine_.closed(label, now_);
  machine_.closed(feature, now_);
  EXPECT_EQ(refusal(label_, report(true)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(refusal(feature_, report(true)), "accepted");
  ASSERT_EQ(effects_.store.size(), 1u);
  EXPECT_EQ(effects_.store[0].state, JobState::done);
  EXPECT_EQ(effects_.store[0].parties[0].relayed_bytes, 101u);
  EXPECT_EQ(effects_.store[0].parties[1].relayed_bytes, 7u);
  EXPECT_FALSE(machine_.next_deadline());
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "job_over") << "an approval is for one run";
}

TEST_F(CoordinatorMachineTest, RefusesWhoIsNoParty) {
  EXPECT_EQ(refusal(stranger_, submit()), "not_a_party");
  EXPECT_EQ(machine_.jobs(), 0u);
  EXPECT_EQ(refusal(somebody({"label", "feature"}), submit()), "both_parties");
  approve_all();
  for (const RequestKind kind : {RequestKind::status, RequestKind::cancel, RequestKind::join}) {
    EXPECT_EQ(refusal(stranger_, about(kind)), "not_a_party");
    EXPECT_EQ(refusal(stranger_, about(kind, 'K')), "unknown_job");
  }
  EXPECT_EQ(refusal(stranger_, approval(stranger_)), "not_a_party");
  EXPECT_EQ(refusal(somebody({"label", "feature"}), about(RequestKind::join)), "both_parties");
  // A stranger's own job has another party's id: it hears that it is none of its.
  Request other = submit();
  other.manifest = "JDstranger friend";
  EXPECT_EQ(refusal(stranger_, other), "not_a_party");
  EXPECT_EQ(machine_.waiting() + machine_.asking(), 0u) << "a stranger leaves nothing behind";
  EXPECT_EQ(job().state, JobState::approved);
}

TEST_F(CoordinatorMachineTest, RefusesAnotherManifest) {
  EXPECT_EQ(refusal(label_, Request{.kind = RequestKind::submit, .manifest = "?", .job = {}}), "manifest_invalid");
  EXPECT_EQ(refusal(label_, Request{.kind = RequestKind::submit, .manifest = "JDlabel label", .job = {}}),
            "manifest_invalid");
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  EXPECT_EQ(refusal(feature_, submit('J', 'E')), "manifest_differs");
  EXPECT_EQ(refusal(feature_, approval(feature_, 'J', 'E')), "manifest_differs");
  EXPECT_EQ(refusal(feature_, approval(feature_)), "accepted");
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  Request join = about(RequestKind::join);
  join.digest = digest('E');
  EXPECT_EQ(refusal(label_, join), "manifest_differs");
}

TEST_F(CoordinatorMachineTest, CountsAnApprovalOnlyByTheKeyThatWasShown) {
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  EXPECT_EQ(refusal(label_, approval(feature_)), "signature_invalid");
  Request other_job = approval(label_, 'K');
  other_job.job = {'J'};
  EXPECT_EQ(refusal(label_, other_job), "signature_invalid");
  Somebody keyless = somebody({"label"});
  keyless.identity.algorithm.reset();
  EXPECT_EQ(refusal(keyless, approval(keyless)), "key_unsupported");
  EXPECT_FALSE(job().parties[0].approval);
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  ASSERT_TRUE(job().parties[0].approval);
  EXPECT_EQ(job().parties[0].approval->public_key, label_.signer->public_key());
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted") << "again";
  EXPECT_TRUE(effects_.store.empty());
}

TEST_F(CoordinatorMachineTest, RefusesWhatIsNoRequest) {
  EXPECT_EQ(refusal(label_, std::nullopt), "malformed_request");
  EXPECT_TRUE(effects_.answers.at(0).is_last);
  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  effects_ = machine_.spoke_early(connection_, now_);
  EXPECT_EQ(heard(connection_)->error().reason(), "spoke_early");
  EXPECT_EQ(machine_.waiting(), 0u);
}

TEST_F(CoordinatorMachineTest, LetsEachPartyComeOnce) {
  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  const ConnectionId first = connection_;
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "already_joined");
  machine_.closed(first, now_);
  run();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "already_joined");
}

TEST_F(CoordinatorMachineTest, HasLimitsWithNames) {
  EXPECT_EQ(refusal(label_, submit('A')), "accepted");
  EXPECT_EQ(refusal(label_, submit('B')), "accepted");
  EXPECT_EQ(refusal(label_, submit('C')), "party_jobs_full");
  EXPECT_EQ(refusal(feature_, submit('C')), "accepted");
  EXPECT_EQ(refusal(feature_, submit('D')), "jobs_full");
  EXPECT_EQ(refusal(feature_, about(RequestKind::cancel, 'B')), "accepted");
  EXPECT_EQ(refusal(feature_, submit('D')), "accepted");
  EXPECT_EQ(effects_.remove, (std::vector<VerticalJobId>{{'B'}})) << "the oldest that is over";
  EXPECT_EQ(machine_.find({'B'}), nullptr);

  for (const char id : {'A', 'C'}) {
    EXPECT_EQ(refusal(label_, approval(label_, id)), "accepted");
    EXPECT_EQ(refusal(feature_, approval(feature_, id)), "accepted");
  }
  EXPECT_EQ(refusal(label_, about(RequestKind::join, 'A')), "waits");
  EXPECT_EQ(refusal(label_, about(RequestKind::join, 'C')), "waiting_full");
  EXPECT_EQ(refusal(feature_, about(RequestKind::join, 'A')), "accepted");
  EXPECT_EQ(refusal(label_, about(RequestKind::join, 'C')), "waits");
  EXPECT_EQ(refusal(feature_, about(RequestKind::join, 'C')), "pairs_full");
}

TEST_F(CoordinatorMachineTest, WhoOnlyDialsMakesRoom) {
  EXPECT_TRUE(machine_.opened(++connection_, now_).closes.empty());
  const ConnectionId oldest = connection_;
  EXPECT_TRUE(machine_.opened(++connection_, now_).closes.empty());
  EXPECT_EQ(machine_.opened(++connection_, now_).closes, std::vector{oldest});
  EXPECT_EQ(machine_.asking(), small().asking_max);
  EXPECT_EQ(refusal(label_, submit()), "accepted") << "the fourth";
}

TEST_F(CoordinatorMachineTest, LetsNobodyWaitForEver) {
  const CoordinatorLimits limits = small();
  machine_.opened(++connection_, now_);
  EXPECT_EQ(machine_.next_deadline(), now_.instant + limits.ask_time);
  pass(limits.ask_time - Millis(1));
  EXPECT_TRUE(effects_.closes.empty());
  pass(Millis(1));
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{connection_}));

  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  pass(limits.wait_time);
  ASSERT_TRUE(heard(connection_));
  EXPECT_EQ(heard(connection_)->error().reason(), "peer_absent");
  EXPECT_EQ(job().state, JobState::approved) << "nothing ran: both may come again";

  const auto [label, feature] = run();
  pass(limits.idle_time - Millis(1));
  machine_.relayed(label, 1, now_);
  pass(limits.idle_time - Millis(1));
  EXPECT_EQ(job().state, JobState::running);
  pass(Millis(1));
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "relay_idle");
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
}

TEST_F(CoordinatorMachineTest, EitherPartyCancels) {
  approve_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "waits");
  const ConnectionId waits = connection_;
  EXPECT_EQ(refusal(feature_, about(RequestKind::cancel)), "accepted");
  EXPECT_EQ(job().reason, "feature_party_cancelled");
  ASSERT_TRUE(heard(waits));
  EXPECT_EQ(heard(waits)->error().reason(), "job_over");
  EXPECT_EQ(refusal(label_, about(RequestKind::cancel)), "job_over");
  EXPECT_EQ(refusal(label_, approval(label_)), "job_over");

  approve_all('K');
  const auto [label, feature] = run('K');
  EXPECT_EQ(refusal(label_, about(RequestKind::cancel, 'K')), "accepted");
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
  EXPECT_EQ(job('K').reason, "label_party_cancelled");
}

TEST_F(CoordinatorMachineTest, KnowsItsJobsAgain) {
  approve_all('A');
  approve_all('B');
  run('B');
  std::vector<JobRecord> records = {job('A'), job('B')};
  machine_ = CoordinatorMachine(small(), read_terms, records);
  effects_ = machine_.begin(now_);
  ASSERT_EQ(effects_.store.size(), 1u);
  EXPECT_EQ(job('B').state, JobState::paused);
  EXPECT_EQ(job('B').reason, "coordinator_lost");
  EXPECT_EQ(machine_.next_deadline(), now_.instant + small().resume_time);
  EXPECT_EQ(job('A'), records[0]);
  run('B');
  // What a party has paused stays so.
  EXPECT_EQ(refusal(label_, about(RequestKind::pause, 'B')), "accepted");
  machine_ = CoordinatorMachine(small(), read_terms, {job('A'), job('B')});
  EXPECT_TRUE(machine_.begin(now_).store.empty());
  EXPECT_FALSE(machine_.next_deadline());
  EXPECT_EQ(job('B').reason, "label_party_paused");
}

TEST(CoordinatorLimits, AreInRange) {
  EXPECT_OK(check_limits({}));
  EXPECT_ERROR(check_limits({.pairs_max = 0}), ErrorCode::invalid_argument, "pairs_max");
  EXPECT_ERROR(check_limits({.buffer_bytes = 1}), ErrorCode::invalid_argument, "buffer_bytes");
  EXPECT_ERROR(check_limits({.wait_time = Millis(0)}), ErrorCode::invalid_argument, "wait_ms");
}

}  // namespace
}  // namespace coterie::vertical
