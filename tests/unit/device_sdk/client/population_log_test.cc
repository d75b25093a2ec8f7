// A device holds what a server shows of its population's log against what it has seen: servers that lie about it.
#include <gtest/gtest.h>

#include "device_sdk/client/ledger_memory.h"
#include "secure/identity/log_head_signature.h"
#include "secure/merkle/merkle_hash.h"
#include "secure/merkle/merkle_log.h"
#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

const Population kPopulation("default");
constexpr uint64_t kLong = 100;  // hashes: no proof has so many

// A log whose record `i` is `i` itself, and from `forks_at` on another.
MerkleLog log_of(uint64_t size, uint64_t forks_at = UINT64_MAX) {
  MerkleLog log;
  for (uint64_t i = 0; i < size; ++i) log.append(merkle_leaf(as_bytes(std::to_string(i) + (i < forks_at ? "" : "'"))));
  return log;
}

// A server and a device; what the next plan shows is up to the test.
struct World : Dialogue {
  explicit World(ParticipantPolicy with = {}) : Dialogue(1, with) {}

  SignedLogHead head_of(const MerkleLog& of, const Population& population = kPopulation) const {
    SignedLogHead head{population, {of.size(), of.root()}, {}};
    EXPECT_OK(sign_log_head(head, *signer));
    return head;
  }
  // The next plan has the log's head, and that of a chain with `others` records more.
  void show(const MerkleLog& of, uint64_t others = 0) {
    log = head_of(of);
    chain(of.size() + others);
    next_attempt();
  }
  void chain(uint64_t records) {
    ledger.records = records;
    ledger.head.bytes.fill(static_cast<uint8_t>(records));
  }
  void next_attempt() { round.attempt = Attempt(round.attempt.value() + 1); }
  // Up to the answer to the plan's request.
  void fetch_plan() {
    reach(Phase::assigned);
    tell(good_answer());
  }
  LogStep asked() const {
    const auto* ask = std::get_if<DoFetchLogProof>(&keep_next());
    return ask != nullptr ? ask->step : LogStep{};
  }
  LogProof proof_by(const MerkleLog& of, const LogStep& step) const {
    return {step.before, step.size, of.consistency_proof(step.before, step.size).value()};
  }
  void prove(const MerkleLog& of) { tell(LogProofFetched{proof_by(of, asked())}); }
  // A device that has seen the log of 14 records, and done its part.
  void see(const MerkleLog& of) {
    show(of);
    reach(Phase::trained);
    tell(good_answer());
    ASSERT_EQ(state().log, head_of(of));
  }
  void expect_refused(std::string_view reason) {
    EXPECT_EQ(state().phase, Phase::idle);
    ASSERT_TRUE(machine->last_error());
    EXPECT_EQ(machine->last_error()->reason(), reason) << machine->last_error()->message();
    const auto refused = machine->take_refused_plan();
    ASSERT_TRUE(refused) << "the app is told";
    EXPECT_EQ(refused->error.reason(), reason);
    EXPECT_GE(wait(), policy.refusal_pause);
    skip_wait();
    restart();
    EXPECT_EQ(std::get<DoCheckIn>(next()).refusal, (Refusal{round, std::string(reason)})) << "and the server";
  }

 private:
  const ParticipantAction& keep_next() const { return kept_ = next(); }
  mutable ParticipantAction kept_ = DoWait{};
};

TEST(PopulationLog, IsTakenAsItIsFirstSeenAndThenWithoutAProofIfItDidNotGrow) {
  World w;
  w.see(log_of(14));
  w.restart();
  w.show(log_of(14));
  w.reach(Phase::trained);
  EXPECT_EQ(w.state().log->head.size, 14u);
}

TEST(PopulationLog, ThatGrewIsTakenWithItsProof) {
  for (uint64_t before = 1; before < 20; ++before) {
    World w;
    w.see(log_of(before));
    w.show(log_of(20), 5);
    w.fetch_plan();
    EXPECT_EQ(w.state().phase, Phase::assigned);
    EXPECT_EQ(w.asked(), (LogStep{before, 20}));
    EXPECT_EQ(w.state().log->head.size, before) << "it is not believed yet";
    w.prove(log_of(20));
    EXPECT_EQ(w.state().phase, Phase::planned);
    EXPECT_EQ(w.state().log, w.head_of(log_of(20)));
    w.reach(Phase::trained);
  }
}

TEST(PopulationLog, ThatIsNamedNoMoreWasRolledBack) {
  World w;
  w.see(log_of(14));
  w.log.reset();
  w.next_attempt();
  w.fetch_plan();
  w.expect_refused("ledger_rollback");
  EXPECT_EQ(w.state().log, w.head_of(log_of(14))) << "and goes on remembering";
}

TEST(PopulationLog, ThatShrankIsRefused) {
  World w;
  w.see(log_of(14));
  w.show(log_of(10));
  w.fetch_plan();
  w.expect_refused("ledger_rollback");  // by the chain, which in plans of one job never goes back
  // A new job has no chain that the device knows, and its head is as stale: the server that has lost the records
  // cannot show that they went on from there.
  w.job = JobId("new");
  w.next_attempt();
  w.fetch_plan();
  EXPECT_EQ(w.asked(), (LogStep{10, 14}));
  w.tell(LogProofFetched{Failure{Error(ErrorCode::not_found, "has 10 records, not 14"), {}}});
  w.expect_refused("ledger_unproven");
}

TEST(PopulationLog, ThatForkedIsRefusedHoweverFarItHasGrown) {
  for (const uint64_t size : {14u, 15u, 16u, 40u, 1000u}) {
    World w;
    w.see(log_of(14));
    const MerkleLog other = log_of(size, 12);
    w.show(other, size);
    w.fetch_plan();
    if (size > 14) w.prove(other);
    w.expect_refused("ledger_fork");
    EXPECT_EQ(w.state().log, w.head_of(log_of(14)));
  }
}

TEST(PopulationLog, ThatWasRewrittenIsRefusedWithAnyProof) {
  const MerkleLog honest = log_of(20), rewritten = log_of(20, 3);
  World w;
  w.see(log_of(14));
  w.show(rewritten, 1);
  Prng prng(11);
  for (int i = 0; i < 40; ++i) {
    w.fetch_plan();
    LogProof proof = w.proof_by(i % 2 == 0 ? honest : rewritten, w.asked());
    if (i >= 2) proof.hashes[prng.below(proof.hashes.size())].bytes[prng.below(32)] ^= 1;
    if (i >= 20) proof.hashes.resize(prng.below(kLong));
    w.tell(LogProofFetched{proof});
    w.expect_refused("ledger_fork");
    w.next_attempt();
  }
}

TEST(PopulationLog, IsHeldAgainstTheProofThatWasAskedFor) {
  World w;
  w.see(log_of(14));
  w.show(log_of(20));
  w.fetch_plan();
  w.tell(LogProofFetched{w.proof_by(log_of(20), {13, 20})});
  w.expect_refused("ledger_fork");
}

// An attempt of another job that was opened when the log was shorter: it is a part of the one that was seen.
TEST(PopulationLog, OfAnEarlierAttemptOfAnotherJobIsProvenTheOtherWayRound) {
  World w;
  w.see(log_of(14));
  w.job = JobId("slow");
  w.show(log_of(9));
  w.fetch_plan();
  EXPECT_EQ(w.asked(), (LogStep{9, 14}));
  w.prove(log_of(14));
  EXPECT_EQ(w.state().phase, Phase::planned);
  EXPECT_EQ(w.state().log, w.head_of(log_of(14))) << "the longest stays";
  w.restart();
  EXPECT_EQ(w.state().phase, Phase::planned) << "what was proven is not proven again";
  w.reach(Phase::trained);
  w.tell(w.good_answer());
  // The same stale head, but of a log that never went on to the 14.
  w.job = JobId("other");
  w.show(log_of(9, 8));
  w.fetch_plan();
  w.prove(log_of(14, 8));
  w.expect_refused("ledger_fork");
}

TEST(PopulationLog, OfAnotherPopulationOrKeyIsRefused) {
  World w;
  w.show(log_of(14));
  w.log = w.head_of(log_of(14), Population("decoys"));
  w.fetch_plan();
  w.expect_refused("ledger_fork");
  w.log->population = kPopulation;  // the signature is the decoys'
  w.next_attempt();
  w.fetch_plan();
  w.expect_refused("ledger_fork");
  EXPECT_FALSE(w.state().log) << "nothing of it is remembered";
}

TEST(PopulationLog, OfARefusedPlanIsRememberedAllTheSame) {
  ParticipantPolicy policy;
  policy.privacy.security_level_min = SecurityLevel::active;
  World w(policy);
  w.show(log_of(14));
  w.fetch_plan();
  EXPECT_EQ(w.machine->last_error()->reason(), "security_level");
  EXPECT_EQ(w.state().log, w.head_of(log_of(14)));
}

// Between the plan and its proof nothing is saved; behind it the device goes on where it stood.
TEST(PopulationLog, SurvivesACrashAtEachStep) {
  for (const bool before_proof : {true, false}) {
    World w;
    w.see(log_of(14));
    w.show(log_of(20));
    w.fetch_plan();
    if (before_proof) {
      w.restart();
      EXPECT_TRUE(w.is_next<DoFetchPlan>());
      EXPECT_EQ(w.state().log, w.head_of(log_of(14)));
      w.fetch_plan();
    }
    w.prove(log_of(20));
    for (const Phase phase : {Phase::planned, Phase::training}) {
      w.reach(phase);
      w.restart();
      EXPECT_EQ(w.state().phase, phase);
      EXPECT_EQ(w.state().log, w.head_of(log_of(20)));
    }
    w.reach(Phase::trained);
    w.tell(w.good_answer());
    w.show(log_of(14));  // the device was killed, the server went back
    w.fetch_plan();
    w.expect_refused("ledger_rollback");
  }
}

TEST(PopulationLog, IsAskedForAgainWhileTheServerIsBusy) {
  World w;
  w.see(log_of(14));
  w.show(log_of(20));
  w.fetch_plan();
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::timed_out, ErrorCode::overloaded}) {
    w.tell(LogProofFetched{Failure{Error(code, "busy"), {}}});
    EXPECT_FALSE(w.machine->take_refused_plan());
    w.skip_wait();
    EXPECT_TRUE(w.is_next<DoFetchLogProof>());
  }
  w.prove(log_of(20));
  EXPECT_EQ(w.state().phase, Phase::planned);
}

// A state of before there were logs, in the middle of a round whose plan has one.
TEST(PopulationLog, BeginsWithThePlanThatAnEarlierVersionKept) {
  World w;
  w.show(log_of(14));
  w.reach(Phase::training);
  ParticipantState before = w.state();
  before.log.reset();
  ParticipantMachine machine(w.policy, before);
  EXPECT_EQ(machine.state().phase, Phase::training);
  EXPECT_EQ(machine.state().log, w.head_of(log_of(14)));
}

}  // namespace
}  // namespace coterie::test
