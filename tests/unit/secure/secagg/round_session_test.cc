// What makes two attempts' sessions different, and what a plan's rules become.
#include "secure/secagg/round_session.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

Digest digest(uint8_t fill) {
  Digest digest;
  digest.bytes.fill(fill);
  return digest;
}

const RoundKey kRound{RoundId(7), Attempt(2)};

TEST(RoundSession, ContextIsWhatTheDocumentSays) {
  // Python: sha256 of len(field) as 4 bytes, big-endian, and field, for each of b"coterie/v1/round", b"job", 7 and 2 as
  // 8 bytes, 32 * b"\x01", 32 * b"\x02".
  EXPECT_EQ(round_context(JobId("job"), kRound, digest(1), digest(2)).hex(),
            "65bc500118d2865391e2f30ea05a16d5b331b213dc1722bf869697c991094632");
}

TEST(RoundSession, ContextTellsEverythingApart) {
  const std::set<Digest> contexts = {round_context(JobId("job"), kRound, digest(1), digest(2)),
                                     round_context(JobId("jo"), kRound, digest(1), digest(2)),
                                     round_context(JobId("job"), {RoundId(8), Attempt(2)}, digest(1), digest(2)),
                                     round_context(JobId("job"), {RoundId(7), Attempt(3)}, digest(1), digest(2)),
                                     round_context(JobId("job"), {RoundId(2), Attempt(7)}, digest(1), digest(2)),
                                     round_context(JobId("job"), kRound, digest(3), digest(2)),
                                     round_context(JobId("job"), kRound, digest(1), digest(3)),
                                     round_context(JobId("job"), kRound, digest(2), digest(1))};
  EXPECT_EQ(contexts.size(), 8u);
}

TEST(RoundSession, ParametersAreThePlans) {
  Plan plan;
  plan.job = JobId("job");
  plan.update.value_count = 100;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
  plan.privacy = {.level = SecurityLevel::masked,
                  .cohort_min = 5,
                  .roster_max = 50,
                  .corrupt_share = .1,
                  .dropout_share = .2,
                  .cipher_suite = 2};
  ASSERT_OK(coterie::validate(plan));
  const SessionParameters parameters = session_parameters(plan, plan.job, kRound, digest(1), digest(2));
  EXPECT_OK(validate(parameters));
  EXPECT_EQ(parameters.context, round_context(plan.job, kRound, digest(1), digest(2)));
  EXPECT_EQ(parameters.level, SecurityLevel::masked);
  EXPECT_EQ(parameters.survivors_min, 5u);
  EXPECT_EQ(parameters.roster_max, 50u);
  EXPECT_EQ(parameters.corrupt_share, .1);
  EXPECT_EQ(parameters.dropout_share, .2);
  EXPECT_EQ(parameters.suite, CipherSuite::chacha20);
  EXPECT_EQ(parameters.ring_bits, 64u) << "the sum is that of proto/ring";
  EXPECT_EQ(lane_bits(parameters), 64u);
  EXPECT_EQ(parameters.lane_count, 101u) << "the weight is one more";
  EXPECT_EQ(wire_lane_bits(parameters), 64u);
}

TEST(RoundSession, QuantizedUpdatesTravelInTheBitsOfTheirSum) {
  Plan plan;
  plan.job = JobId("job");
  plan.update = {.encoding = UpdateEncoding::quantized,
                 .value_count = 100,
                 .clip_l2 = 1,
                 .fixed_point = FixedPointSpec::finest(8, 1000, 1000),
                 .quantization = {.bits = 8, .rotated = true, .contributors_max = 10}};
  plan.privacy = {
      .level = SecurityLevel::active, .cohort_min = 5, .roster_max = 10, .corrupt_share = .1, .cipher_suite = 1};
  ASSERT_OK(coterie::validate(plan));
  SessionParameters parameters = session_parameters(plan, plan.job, kRound, digest(1), digest(2));
  EXPECT_OK(validate(parameters));
  EXPECT_EQ(parameters.ring_bits, 12u);
  EXPECT_EQ(wire_lane_bits(parameters), 12u);
  EXPECT_EQ(lane_bits(parameters), 16u) << "masks are streams of such lanes";
  EXPECT_EQ(parameters.lane_count, 102u) << "two digits of a weight up to 1000";
  parameters.ring_bits = 33;
  EXPECT_ERROR(validate(parameters), ErrorCode::invalid_argument, "where lanes are packed");
}

}  // namespace
}  // namespace coterie::secagg
