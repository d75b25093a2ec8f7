#include "fl_server/privacy/round_plan.h"

#include <gtest/gtest.h>

#include "proto/codec/codec.h"
#include "secure/identity/log_head_signature.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"

namespace coterie::test {
namespace {

Plan job_plan() {
  Plan plan;
  plan.job = JobId("job");
  plan.update.value_count = 16;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
  return plan;
}

LedgerHead head_of(uint64_t records) {
  LedgerHead ledger{.records = records, .head = {}};
  ledger.head.bytes.fill(static_cast<uint8_t>(records));
  return ledger;
}

RoundTerms terms(const LedgerHead& ledger) {
  RoundTerms own = terms_in(job_plan());
  own.ledger = ledger;
  return own;
}

TEST(RoundPlan, IsTheJobsWithTheHeadOfTheLedger) {
  MemoryBlobStore blobs;
  const Digest job = *blobs.put(encode(job_plan()));
  const Result<RoundPlan> round = put_round_plan(blobs, job, terms(head_of(4)), {});
  ASSERT_OK(round);
  EXPECT_NE(round->digest, job);
  const Result<Bytes> stored = blobs.get(round->digest, 1 << 20);
  ASSERT_OK(stored);
  EXPECT_EQ(stored->size(), round->bytes);
  Plan expected = job_plan();
  expected.ledger = head_of(4);
  EXPECT_EQ(*decode_plan(*stored), expected);
}

TEST(RoundPlan, IsTheSameAfterARestartAndAnotherWithAnotherHead) {
  MemoryBlobStore blobs;
  const Digest job = *blobs.put(encode(job_plan()));
  const RoundPlan first = *put_round_plan(blobs, job, terms(head_of(4)), {});
  EXPECT_EQ(*put_round_plan(blobs, job, terms(head_of(4)), {}), first);
  EXPECT_NE(put_round_plan(blobs, job, terms(head_of(6)), {})->digest, first.digest);
  EXPECT_EQ(put_round_plan(blobs, job, terms({}), {})->digest, job);
}

TEST(RoundPlan, HasTheLearningRateOfTheRound) {
  MemoryBlobStore blobs;
  const Digest job = *blobs.put(encode(job_plan()));
  RoundTerms halved = terms({});
  halved.learning_rate /= 2;
  const RoundPlan round = *put_round_plan(blobs, job, halved, {});
  Plan expected = job_plan();
  expected.training.optimizer.learning_rate = halved.learning_rate;
  EXPECT_EQ(*decode_plan(*blobs.get(round.digest, 1 << 20)), expected);
  EXPECT_EQ(*put_round_plan(blobs, job, halved, {}), round) << "a retried attempt, or another server";
}

TEST(RoundPlan, HasTheSignedHeadOfThePopulationsLog) {
  MemoryBlobStore blobs;
  const Digest job = *blobs.put(encode(job_plan()));
  const auto signer = make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)).value();
  const LogHead head{3, head_of(9).head};
  const auto log = sign_log(Population("phones"), head, *signer);
  ASSERT_OK(log);
  const RoundPlan round = *put_round_plan(blobs, job, terms(head_of(4)), *log);
  const Plan plan = *decode_plan(*blobs.get(round.digest, 1 << 20));
  ASSERT_TRUE(plan.log);
  EXPECT_EQ(plan.log->population, Population("phones"));
  EXPECT_EQ(plan.log->head, head);
  EXPECT_OK(verify_log_head(*plan.log, {signer->public_key()}));
  EXPECT_EQ(*put_round_plan(blobs, job, terms(head_of(4)), *sign_log(Population("phones"), head, *signer)), round)
      << "signed anew, after a restart or by another server of the fleet";
  EXPECT_FALSE(sign_log(Population("phones"), {}, *signer)->has_value()) << "a log without records is not named";
}

TEST(RoundPlan, OfAPlanThatIsDamagedOrGoneIsNone) {
  MemoryBlobStore blobs;
  const Digest job = *blobs.put(encode(job_plan()));
  blobs.bytes_of(job)[3] ^= 1;
  EXPECT_ERROR(put_round_plan(blobs, job, terms(head_of(4)), {}), ErrorCode::data_loss, "the job's plan");
  EXPECT_ERROR(put_round_plan(blobs, Digest{}, terms(head_of(4)), {}), ErrorCode::not_found, "");
}

}  // namespace
}  // namespace coterie::test
