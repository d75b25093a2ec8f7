// A device notices a privacy ledger that was rolled back.
#include "device_sdk/client/ledger_memory.h"

#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

LedgerHead head_of(uint64_t records, uint8_t value) {
  LedgerHead ledger{.records = records, .head = {}};
  ledger.head.bytes.fill(value);
  return ledger;
}

bool is_taken(const LedgerHead& seen, const LedgerHead& shown) {
  Plan plan;
  plan.job = JobId("job");
  plan.ledger = seen;
  ParticipantState state;
  note_ledger(plan, state);
  plan.ledger = shown;
  const Status checked = check_ledger(plan, state);
  if (!checked) {
    EXPECT_EQ(checked.error().code(), ErrorCode::refused);
    EXPECT_EQ(checked.error().reason(), "ledger_rollback");
  }
  return static_cast<bool>(checked);
}

TEST(LedgerMemory, TakesWhatTheSeenLedgerCanHaveBecome) {
  const LedgerHead none, four = head_of(4, 1);
  EXPECT_TRUE(is_taken(none, none));
  EXPECT_TRUE(is_taken(none, four));
  EXPECT_TRUE(is_taken(four, four));
  EXPECT_TRUE(is_taken(four, head_of(5, 2)));
  EXPECT_TRUE(is_taken(four, head_of(UINT64_MAX, 2)));
  EXPECT_FALSE(is_taken(four, head_of(3, 2)));
  EXPECT_FALSE(is_taken(four, head_of(4, 2)));
  EXPECT_FALSE(is_taken(four, none));
}

// Any history of heads: what is refused is exactly what is not longer than the longest before, itself
// excepted.
TEST(LedgerMemory, KeepsTheLongestOfAnyHistory) {
  Prng prng(5);
  for (int history = 0; history < 200; ++history) {
    ParticipantState state;
    Plan plan;
    plan.job = JobId("job");
    LedgerHead longest;
    for (int step = 0; step < 30; ++step) {
      const uint64_t records = prng.below(12);
      plan.ledger = records == 0 ? LedgerHead{} : head_of(records, static_cast<uint8_t>(1 + prng.below(2)));
      const bool is_later = records > longest.records || plan.ledger == longest;
      const Status checked = check_ledger(plan, state);
      ASSERT_EQ(static_cast<bool>(checked), is_later);
      if (!checked) continue;
      note_ledger(plan, state);
      longest = plan.ledger;
    }
  }
}

TEST(ParticipantLedger, RefusesARollbackAfterARestartAndTellsTheServer) {
  Dialogue d;
  d.ledger = head_of(6, 1);
  d.reach(Phase::trained);
  d.tell(d.good_answer());
  d.restart();
  for (const LedgerHead& rolled_back : {head_of(4, 1), head_of(6, 2), LedgerHead{}}) {
    d.ledger = rolled_back;
    d.round.attempt = Attempt(d.round.attempt.value() + 1);
    d.reach(Phase::assigned);
    d.tell(d.good_answer());
    EXPECT_EQ(d.state().phase, Phase::idle);
    ASSERT_TRUE(d.machine->last_error());
    EXPECT_EQ(d.machine->last_error()->reason(), "ledger_rollback");
    EXPECT_GE(d.wait(), d.policy.refusal_pause);
    const auto refused = d.machine->take_refused_plan();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->error.reason(), "ledger_rollback");
    d.restart();
    d.skip_wait();
    EXPECT_EQ(std::get<DoCheckIn>(d.next()).refusal, (Refusal{d.round, "ledger_rollback"}));
    EXPECT_EQ(d.state().ledgers.at(JobId("job")), head_of(6, 1)) << "and goes on remembering";
  }
  d.ledger = head_of(8, 3);
  d.reach(Phase::trained);
}

TEST(ParticipantLedger, GoesOnWithTheSamePlanAfterARestart) {
  for (const Phase phase : {Phase::planned, Phase::training, Phase::aggregating}) {
    Dialogue d;
    d.ledger = head_of(2, 1);
    d.reach(phase);
    d.restart();
    EXPECT_EQ(d.state().phase, phase);
  }
}

// A head that was signed is a fact, whoever trains under the plan.
TEST(ParticipantLedger, RemembersTheHeadOfAPlanThatItRefuses) {
  ParticipantPolicy policy;
  policy.privacy.security_level_min = SecurityLevel::active;
  Dialogue d(1, policy);
  d.ledger = head_of(6, 1);
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  EXPECT_EQ(d.machine->last_error()->reason(), "security_level");
  EXPECT_EQ(d.state().ledgers.at(JobId("job")), head_of(6, 1));

  Dialogue forged;
  forged.ledger = head_of(6, 1);
  forged.reach(Phase::assigned);
  forged.ledger = head_of(60, 1);
  forged.tell(PlanFetched{encode(forged.plan())});  // not what was signed
  EXPECT_TRUE(forged.state().ledgers.empty());
}

}  // namespace
}  // namespace coterie::test
