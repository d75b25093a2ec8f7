// What a device refuses: assignments, plans and models that are not what the server it enrolled with has
// signed.
#include <gtest/gtest.h>

#include <functional>

#include "proto/codec/limits.h"
#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

void expect_refused(Dialogue& d, const std::string& words) {
  ASSERT_TRUE(d.machine->last_error()) << words;
  EXPECT_NE(d.machine->last_error()->message().find(words), std::string::npos) << d.machine->last_error()->message();
  EXPECT_EQ(d.state().phase, ParticipantPhase::idle);
  EXPECT_FALSE(d.state().assignment);
  EXPECT_GE(d.wait(), d.policy.refusal_pause);
  EXPECT_LE(d.wait(), 2 * d.policy.refusal_pause);
  d.skip_wait();
  EXPECT_TRUE(d.is_next<DoCheckIn>());
}

TEST(ParticipantTrust, RefusesAnAssignmentInWhichAnySignedFieldWasChanged) {
  const std::pair<const char*, std::function<void(Assignment&)>> changes[] = {
      {"job", [](Assignment& a) { a.job = JobId("other"); }},
      {"round", [](Assignment& a) { a.round.round = RoundId(6); }},
      {"attempt", [](Assignment& a) { a.round.attempt = Attempt(2); }},
      {"model_version", [](Assignment& a) { a.model_version = ModelVersion(5); }},
      {"plan", [](Assignment& a) { a.plan.bytes[0] ^= 1; }},
      {"model", [](Assignment& a) { a.model.bytes[31] ^= 1; }},
      {"plan_bytes", [](Assignment& a) { ++a.plan_bytes; }},
      {"model_bytes", [](Assignment& a) { ++a.model_bytes; }},
      {"not_after", [](Assignment& a) { a.not_after += Millis(1); }},
      {"signature", [](Assignment& a) { a.signature[10] ^= 1; }},
      {"no signature", [](Assignment& a) { a.signature.clear(); }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    Dialogue d;
    d.reach(ParticipantPhase::idle);
    Assignment assignment = d.assignment();
    change(assignment);
    d.tell(CheckInAnswered{assignment});
    expect_refused(d, "not signed by the server");
    EXPECT_TRUE(d.state().newest_models.empty()) << "what is refused must leave no trace";
  }
}

TEST(ParticipantTrust, RefusesAnAssignmentOfAnotherServer) {
  Dialogue d;
  d.reach(ParticipantPhase::idle);
  d.signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 8)));
  d.tell(CheckInAnswered{d.assignment()});
  expect_refused(d, "not signed by the server");
}

TEST(ParticipantTrust, RefusesAnOlderModelThanItHasSeenOfTheJobEvenAfterARestart) {
  Dialogue d;
  d.reach(ParticipantPhase::trained);
  d.tell(d.good_answer());
  d.restart();
  Assignment older = d.unsigned_assignment();
  older.model_version = ModelVersion(3);
  d.tell(CheckInAnswered{d.sign(older)});
  expect_refused(d, "model version 3 is older than 4");

  Assignment other_job = older;  // versions of other jobs are counted apart
  other_job.job = JobId("another");
  d.tell(CheckInAnswered{d.sign(other_job)});
  EXPECT_TRUE(d.is_next<DoFetchPlan>());
}

TEST(ParticipantTrust, TakesTheSameModelAgainBecauseRoundsAreTriedAgain) {
  Dialogue d;
  d.reach(ParticipantPhase::trained);
  d.tell(d.good_answer());
  Assignment again = d.unsigned_assignment();
  again.round.attempt = Attempt(2);
  d.tell(CheckInAnswered{d.sign(again)});
  EXPECT_TRUE(d.is_next<DoFetchPlan>());
}

TEST(ParticipantTrust, RefusesOneJobMoreThanItCanRememberButKeepsServingThoseItKnows) {
  Dialogue d;
  d.reach(ParticipantPhase::idle);
  ParticipantState full = d.state();
  full.newest_models[JobId("job")] = ModelVersion(1);
  for (size_t i = 1; i < limits::kJobsRememberedMax; ++i) {
    full.newest_models[JobId("job" + std::to_string(i))] = ModelVersion(1);
  }
  d.machine = std::make_unique<ParticipantMachine>(d.policy, full);
  Assignment one_more = d.unsigned_assignment();
  one_more.job = JobId("new");
  d.tell(CheckInAnswered{d.sign(one_more)});
  expect_refused(d, "one job more");
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_TRUE(d.is_next<DoFetchPlan>());
}

TEST(ParticipantTrust, RefusesAPlanWithAnotherDigest) {
  Dialogue d;
  d.reach(ParticipantPhase::assigned);
  Plan other = d.plan();
  other.training.local_epochs = 1000;
  d.tell(PlanFetched{encode(other)});
  expect_refused(d, "does not have the digest");
}

TEST(ParticipantTrust, RefusesAPlanThatIsSignedButWrong) {
  Plan of_another_job = Dialogue().plan();
  of_another_job.job = JobId("other");
  const std::pair<const char*, Bytes> plans[] = {
      {"frame", Bytes(100, 0x55)},
      {"of another job", encode(of_another_job)},
  };
  for (const auto& [words, bytes] : plans) {
    Dialogue d;
    d.reach(ParticipantPhase::idle);
    Assignment assignment = d.unsigned_assignment();
    assignment.plan = content_digest(bytes);
    d.tell(CheckInAnswered{d.sign(assignment)});
    d.tell(PlanFetched{bytes});
    expect_refused(d, words);
  }
}

TEST(ParticipantTrust, RefusesAModelWithAnotherDigest) {
  Dialogue d;
  d.reach(ParticipantPhase::planned);
  d.tell(ModelFetched{content_digest(as_bytes("poison"))});
  expect_refused(d, "model: does not have the digest");
}

TEST(ParticipantTrust, RefusesAControlThatThePlanDoesNotName) {
  const Digest named{{7}};
  for (const std::optional<Digest>& came :
       {std::optional<Digest>(), std::optional(Digest{{8}}), std::optional(named)}) {
    for (const bool is_named : {true, false}) {
      Dialogue d;
      d.correction = {.kind = CorrectionKind::scaffold};
      if (is_named) d.control = named;
      d.reach(ParticipantPhase::planned);
      const auto fetch = std::get<DoFetchModel>(d.next());
      EXPECT_EQ(fetch.control, d.control);
      EXPECT_EQ(fetch.control_values, kPlanValues / 2);
      d.tell(ModelFetched{fetch.model, came});
      if (came == d.control) {
        EXPECT_EQ(d.state().phase, ParticipantPhase::training);
      } else {
        expect_refused(d, "control: does not have the digest");
      }
    }
  }
}

}  // namespace
}  // namespace coterie::test
