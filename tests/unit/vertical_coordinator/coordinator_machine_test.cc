#include "vertical/coordinator/coordinator_machine.h"

#include <gtest/gtest.h>

#include <array>

#include "secure/crypto/signature.h"
#include "tests/support/matchers.h"

namespace coterie::vertical {
namespace {

// A manifest of these tests: job byte, digest byte, label party's name, a space, feature party's name.
Result<JobTerms> read_terms(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == text.npos || space < 3) return Error(ErrorCode::malformed, "no manifest");
  JobTerms terms;
  terms.job[0] = static_cast<uint8_t>(text[0]);
  terms.manifest.bytes[0] = static_cast<uint8_t>(text[1]);
  terms.parties = {std::string(text.substr(2, space - 2)), std::string(text.substr(space + 1))};
  return terms;
}

class CoordinatorMachineTest : public ::testing::Test {
 protected:
  struct Somebody {
    std::unique_ptr<Signer> signer;
    PeerIdentity identity;
  };
  static Somebody somebody(const std::vector<std::string>& names) {
    Somebody made{.signer = *make_signer(KeyAlgorithm::p256, generate_secret(KeyAlgorithm::p256)), .identity = {}};
    made.identity = {.names = names, .algorithm = KeyAlgorithm::p256, .public_key = made.signer->public_key()};
    return made;
  }

  // What is asked for on a connection of its own, and what is heard: an error with the refusal's reason, or the job.
  // Nothing while it waits.
  std::optional<Result<JobView>> ask(const Somebody& who, const std::optional<Request>& request) {
    machine_.opened(++connection_, now_);
    effects_ = machine_.asked(connection_, who.identity, request, now_);
    machine_.check();
    return heard(connection_);
  }
  std::optional<Result<JobView>> heard(ConnectionId by) const {
    for (const auto& answer : effects_.answers) {
      if (answer.to != by) continue;
      const std::span<const uint8_t, kCoordinatorHeaderBytes> header(answer.bytes.data(), kCoordinatorHeaderBytes);
      return read_answer(header, ByteView(answer.bytes).subspan(kCoordinatorHeaderBytes));
    }
    return std::nullopt;
  }
  std::string_view refusal(const Somebody& who, const std::optional<Request>& request) {
    const auto answer = ask(who, request);
    if (!answer) return "waits";
    return *answer ? "accepted" : answer->error().reason();
  }

  Request submit(char job = 'J', char digest = 'D') const {
    return {.kind = RequestKind::submit, .manifest = std::string{job, digest} + "label feature", .job = {}};
  }
  static Digest digest(char first = 'D') {
    Digest made;
    made.bytes[0] = static_cast<uint8_t>(first);
    return made;
  }
  static Request about(RequestKind kind, char job = 'J') {
    return {.kind = kind, .job = {static_cast<uint8_t>(job)}, .digest = digest()};
  }
  static Request approval(const Somebody& who, char job = 'J', char of = 'D') {
    Request request = about(RequestKind::approve, job);
    request.digest = digest(of);
    request.signature = *who.signer->sign(approval_message(request.job, request.digest));
    return request;
  }
  static Request report(bool is_done) {
    Request request = about(RequestKind::report);
    request.is_done = is_done;
    if (!is_done) request.reason = "peer_silent";
    return request;
  }
  void approve_all(char job = 'J') {
    EXPECT_EQ(refusal(label_, submit(job)), "accepted");
    EXPECT_EQ(refusal(label_, approval(label_, job)), "accepted");
    EXPECT_EQ(refusal(feature_, approval(feature_, job)), "accepted");
  }
  // Both come; the connections of label and feature party.
  std::pair<ConnectionId, ConnectionId> run(char job = 'J') {
    EXPECT_EQ(refusal(feature_, about(RequestKind::join, job)), "waits");
    EXPECT_EQ(refusal(label_, about(RequestKind::join, job)), "accepted");
    EXPECT_EQ(effects_.pairs.size(), 1u);
    return {effects_.pairs[0].label, effects_.pairs[0].feature};
  }
  const JobRecord& job(char id = 'J') const { return *machine_.find({static_cast<uint8_t>(id)}); }
  void pass(Millis time) {
    now_.instant += time;
    now_.wall += time;
    effects_ = machine_.advance(now_);
    machine_.check();
  }

  static CoordinatorLimits small() {
    return {.asking_max = 2, .waiting_max = 1, .pairs_max = 1, .jobs_max = 3, .party_jobs_max = 2};
  }

  Now now_{.instant = Instant(Millis(1000)), .wall = wall_time_from_unix_ms(1'000'000)};
  CoordinatorMachine machine_{small(), read_terms, {}};
  CoordinatorEffects effects_;
  ConnectionId connection_ = 0;
  Somebody label_ = somebody({"label"}), feature_ = somebody({"x", "feature"}), stranger_ = somebody({"stranger"});
};

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
  machine_.closed(effects_.pairs[0].label, now_);
  machine_.closed(effects_.pairs[0].feature, now_);
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
  EXPECT_EQ(effects_.pairs[0].feature, feature);
  EXPECT_EQ(job().state, JobState::running);
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

  for (int difference = 0; difference < 2; ++difference) {
    Request other = deal(100);
    if (difference == 0) {
      other.session = digest('T');
    } else {
      other.first_step = 3;
    }
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
