// What is said of a population's log: heads in plans and in what a device keeps, and proofs.
#include <gtest/gtest.h>

#include "proto/codec/limits.h"
#include "tests/support/golden.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;

Plan plan_with_log(uint64_t size, uint64_t records) {
  Plan plan = test::MessageTraits<Plan>::samples().typical;
  plan.ledger.records = records;
  if (records > 0) plan.ledger.head.bytes.fill(0xa7);
  plan.log = SignedLogHead{Population("phones"), {size, {}}, Bytes(64, 0x51)};
  plan.log->head.root.bytes.fill(0x3c);
  return plan;
}

TEST(PlanLog, HasTheGoldenBytes) {
  const Plan plan = plan_with_log(4, 6);
  test::expect_golden_bytes("wire/plan.log.hex", encode(plan));
  const Result<Bytes> golden = test::read_golden_bytes("wire/plan.log.hex");
  ASSERT_OK(golden);
  const Result<Plan> decoded = decode_plan(*golden);
  ASSERT_OK(decoded);
  EXPECT_EQ(*decoded, plan);
}

TEST(PlanLog, IsAPartOfTheLedger) {
  EXPECT_OK(decode_plan(encode(plan_with_log(6, 6))));
  EXPECT_ERROR(decode_plan(encode(plan_with_log(7, 6))), ErrorCode::malformed, "as the ledger that it is a part of");
  EXPECT_ERROR(decode_plan(encode(plan_with_log(1, 0))), ErrorCode::malformed, "as the ledger that it is a part of");
  EXPECT_ERROR(decode_plan(encode(plan_with_log(0, 6))), ErrorCode::malformed, "log.size must be at least 1");
  Plan plan = plan_with_log(1, 6);
  plan.log->population = Population("");
  EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, "log.population");
  plan.log = SignedLogHead{Population("phones"), {1, {}}, {}};
  EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, "log.signature");
}

TEST(LogProofCodec, KnowsHowLongAProofCanBe) {
  const auto with_hashes = [](size_t count) { return [count](LogProof& m) { m.hashes.resize(count); }; };
  expect_accepted<LogProof>(with_hashes(0));
  expect_accepted<LogProof>(with_hashes(limits::kLogProofHashesMax));
  expect_rejected<LogProof>("hashes has more than 65", with_hashes(limits::kLogProofHashesMax + 1));
  expect_rejected<LogProof>("before must be at most size", [](LogProof& m) { m.before = m.size + 1; });
}

TEST(ParticipantStateCodec, KeepsTheHeadOfALog) {
  using M = ParticipantState;
  expect_accepted<M>([](M& m) { m.log = SignedLogHead{Population("p"), {1, {}}, Bytes(64, 1)}; });
  expect_rejected<M>("log.size must be at least 1", [](M& m) {
    m.log = SignedLogHead{Population("p"), {0, {}}, Bytes(64, 1)};
  });
}

}  // namespace
}  // namespace coterie
