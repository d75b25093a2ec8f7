#include "fl_server/privacy/round_plan.h"

#include <gtest/gtest.h>

#include <cstring>

#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "scheduler/job/analytics_rules.h"
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

// The rounds of a job that looks for frequent strings ask what the table says, and others what the job's plan does.
TEST(RoundPlan, AsksWhatTheTableLeavesOpen) {
  MemoryBlobStore blobs;
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::heavy_hitters, .input_values = 3};
  analytics.rules.hitters = HitterRules{.length_max = 3, .alphabet = {'a', 'b'}, .prefixes_max = 2};
  analytics.threshold = 2;
  HorizontalSettings settings;
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  Bytes table = new_table(rules_of(analytics), 3);
  const Digest empty = *blobs.put(table);
  const float counts[] = {1, 5};  // of a and b
  std::memcpy(table.data() + table.size() - Decoded<ModelGraph>(*decode_model(table)).payload.size(), counts,
              sizeof counts);
  const Digest counted = *blobs.put(table);

  const auto first = round_question(blobs, settings, ModelVersion(0), empty);
  ASSERT_OK(first);
  EXPECT_EQ(**first, rules_of(analytics));
  const auto second = round_question(blobs, settings, ModelVersion(1), counted);
  ASSERT_OK(second);
  EXPECT_EQ((*second)->hitters->length, 1u);
  EXPECT_EQ((*second)->hitters->prefixes, std::vector<std::string>{"b"});
  EXPECT_ERROR(round_question(blobs, settings, ModelVersion(3), counted), ErrorCode::data_loss, "its last round");

  const Digest job = *blobs.put(encode(job_plan()));
  const RoundPlan round = *put_round_plan(blobs, job, terms({}), {}, *second);
  EXPECT_NE(round.digest, job);
  EXPECT_EQ(*put_round_plan(blobs, job, terms({}), {}, *second), round) << "a retried attempt, or another server";
  settings.analytics->rules = {.edges = {}};
  settings.analytics->edges = {1, 2};
  EXPECT_EQ(*round_question(blobs, settings, ModelVersion(1), counted), std::nullopt) << "what the job's plan asks";
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
