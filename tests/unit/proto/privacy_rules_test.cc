// The privacy of a plan: every range, what none means, and the bytes.
#include "proto/messages/privacy_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "proto/generated/wire_generated.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();
const double kBelowOne = std::nextafter(1.0, 0.0);

PrivacyRules rules_of(SecurityLevel level) {
  PrivacyRules rules{.level = level,
                     .cohort_min = 120,
                     .roster_max = 200,
                     .corrupt_share = 0.25,
                     .dropout_share = 0.1,
                     .cipher_suite = 1};
  if (level == SecurityLevel::active_dp) {
    rules.encoding = {.fraction_bits = 12,
                      .ring_bits = 28,
                      .clip_norm = 1.5,
                      .weight_max = 100,
                      .contributors_max = 200,
                      .rotated = true};
    rules.noise_variance_local = 40.5;
    rules.epsilon_round = 0.75;
    rules.delta = 1e-8;
  }
  return rules;
}

Plan plan_with(const PrivacyRules& rules) {
  return test::changed<Plan>([&](Plan& plan) { plan.privacy = rules; });
}

template <typename Change>
void expect_bad(std::string_view words, Change change, SecurityLevel level = SecurityLevel::active_dp) {
  PrivacyRules rules = rules_of(level);
  change(rules);
  EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, words);
  EXPECT_ERROR(validate(plan_with(rules)), ErrorCode::invalid_argument, words);
  EXPECT_ERROR(decode_plan(encode(plan_with(rules))), ErrorCode::malformed, words);
}

template <typename Change>
void expect_good(Change change, SecurityLevel level = SecurityLevel::active_dp) {
  Plan plan = plan_with(rules_of(level));
  change(plan.privacy);
  const Result<Plan> decoded = decode_plan(encode(plan));
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == plan);
}

TEST(PrivacyRules, OfEveryLevelTravel) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active, SecurityLevel::active_dp}) {
    expect_good([](PrivacyRules&) {}, level);
  }
  expect_good([](PrivacyRules& r) { r = {}; });
}

TEST(PrivacyRules, LimitWhoTakesPart) {
  using R = PrivacyRules;
  expect_bad("level is unknown", [](R& r) { r.level = static_cast<SecurityLevel>(4); });
  expect_bad("level is unknown", [](R& r) { r.level = static_cast<SecurityLevel>(255); });
  expect_bad("cohort_min must be in [2, 10000]", [](R& r) { r.cohort_min = 1; });
  expect_bad("cohort_min must be in [2, 10000]", [](R& r) { r.cohort_min = 10'001; });
  expect_good([](R& r) { r.cohort_min = 2; });
  expect_good([](R& r) { r.cohort_min = r.roster_max = r.encoding.contributors_max = 10'000; });
  expect_bad("roster_max must be in [cohort_min, 10000]", [](R& r) { r.roster_max = 119; });
  expect_bad("roster_max must be in [cohort_min, 10000]", [](R& r) { r.roster_max = 10'001; });
  expect_good([](R& r) { r.roster_max = 120; });
  expect_bad("cipher_suite", [](R& r) { r.cipher_suite = 0; });
  expect_bad("cipher_suite", [](R& r) { r.cipher_suite = 3; });
  expect_good([](R& r) { r.cipher_suite = 2; });
  for (const double share : {-kTiny, 1.0, kNaN, kInf, -kInf}) {
    expect_bad("corrupt_share must be in [0, 1)", [&](R& r) { r.corrupt_share = share; });
    expect_bad("dropout_share must be in [0, 1)", [&](R& r) { r.dropout_share = share; });
  }
  for (const double share : {0.0, kTiny, kBelowOne}) {
    expect_good([&](R& r) { r.corrupt_share = share; });
    expect_good([&](R& r) { r.dropout_share = share; });
  }
}

TEST(PrivacyRules, LimitTheEncoding) {
  using R = PrivacyRules;
  expect_bad("fraction_bits", [](R& r) { r.encoding.fraction_bits = 31; });
  expect_bad("ring_bits", [](R& r) { r.encoding.ring_bits = 7; });
  expect_bad("ring_bits", [](R& r) { r.encoding.ring_bits = 65; });
  expect_good([](R& r) { r.encoding.ring_bits = 8; });
  expect_good([](R& r) { r.encoding.ring_bits = 64; });
  for (const double norm : {0.0, -1.0, kNaN, kInf, -kInf}) {
    expect_bad("clip_norm must be finite and > 0", [&](R& r) { r.encoding.clip_norm = norm; });
  }
  expect_bad("weight_max", [](R& r) { r.encoding.weight_max = 0; });
  expect_bad("weight_max", [](R& r) { r.encoding.weight_max = kWeightMax + 1; });
  expect_bad("contributors_max must be at least 1", [](R& r) { r.encoding.contributors_max = 0; });
  expect_bad("contributors_max must be at least cohort_min", [](R& r) { r.encoding.contributors_max = 119; });
  expect_good([](R& r) { r.encoding.contributors_max = 120; });
  const auto norm = [](double clip, uint32_t weight, uint32_t bits) {
    return [=](R& r) { r.encoding.clip_norm = clip, r.encoding.weight_max = weight, r.encoding.fraction_bits = bits; };
  };
  expect_good(norm(1, 1, 30));
  expect_bad("at most 2^30", norm(std::nextafter(1.0, 2.0), 1, 30));
  expect_good(norm(64, kWeightMax, 0));
  expect_bad("at most 2^30", norm(64, kWeightMax, 1));
  expect_bad("at most 2^30", norm(std::numeric_limits<double>::max(), kWeightMax, 30));
}

TEST(PrivacyRules, HaveNoEncodingOfTheirOwnBelowActiveDp) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    expect_bad(
        "no encoding", [](PrivacyRules& r) { r.encoding.ring_bits = 32; }, level);
  }
}

TEST(PrivacyRules, PromiseNoiseAtItsLevelAlone) {
  using R = PrivacyRules;
  for (const double variance : {0.0, 0.0024, -1.0, 0x1p20 + 1, kNaN, kInf}) {
    expect_bad("noise_variance_local must be in", [&](R& r) { r.noise_variance_local = variance; });
  }
  for (const double variance : {0.0025, 0x1p20}) expect_good([&](R& r) { r.noise_variance_local = variance; });
  for (const double epsilon : {0.0, -1.0, kNaN, kInf, -kInf}) {
    expect_bad("epsilon_round must be finite and > 0", [&](R& r) { r.epsilon_round = epsilon; });
  }
  for (const double delta : {0.0, 1.0, -kTiny, kNaN, kInf}) {
    expect_bad("delta must be in (0, 1)", [&](R& r) { r.delta = delta; });
  }
  expect_good([](R& r) { r.delta = kTiny; });
  expect_good([](R& r) { r.delta = kBelowOne; });
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    for (const double value : {1.0, kTiny, kNaN, kInf}) {
      expect_bad(
          "must be 0 below active_dp", [&](R& r) { r.noise_variance_local = value; }, level);
      expect_bad(
          "must be 0 below active_dp", [&](R& r) { r.epsilon_round = value; }, level);
      expect_bad(
          "must be 0 below active_dp", [&](R& r) { r.delta = value; }, level);
    }
  }
}

// A level that is lost on the way must not leave rules behind that look as if they held.
TEST(PrivacyRules, OfLevelNoneSayNothingElse) {
  using R = PrivacyRules;
  const std::vector<void (*)(R&)> changes = {[](R& r) { r.cohort_min = 3; },
                                             [](R& r) { r.corrupt_share = 0.1; },
                                             [](R& r) { r.dropout_share = kNaN; },
                                             [](R& r) { r.cipher_suite = 1; },
                                             [](R& r) { r.encoding.ring_bits = 32; },
                                             [](R& r) { r.encoding.rotated = true; },
                                             [](R& r) { r.noise_variance_local = 1; },
                                             [](R& r) { r.epsilon_round = 1; },
                                             [](R& r) { r.delta = 0.5; }};
  for (const auto change : changes) {
    R rules;
    change(rules);
    EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, "level none has no other rules");
    EXPECT_ERROR(decode_plan(encode(plan_with(rules))), ErrorCode::malformed, "level none has no other rules");
  }
  EXPECT_ERROR(decode_plan(encode(plan_with([] {
                 R rules = rules_of(SecurityLevel::active_dp);
                 rules.level = SecurityLevel::none;
                 return rules;
               }()))),
               ErrorCode::malformed, "level none has no other rules");
}

TEST(PrivacyRules, HaveTheGoldenBytes) {
  const Plan plan = plan_with(rules_of(SecurityLevel::active_dp));
  test::expect_golden_bytes("wire/plan.private.hex", encode(plan));
  const Result<Bytes> golden = test::read_golden_bytes("wire/plan.private.hex");
  ASSERT_OK(golden);
  const Result<Plan> decoded = decode_plan(*golden);
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == plan);
}

TEST(PlanLedger, HasTheGoldenBytes) {
  Plan plan = plan_with(PrivacyRules{});
  plan.ledger.records = 6;
  plan.ledger.head.bytes.fill(0xa7);
  test::expect_golden_bytes("wire/plan.ledger.hex", encode(plan));
  const Result<Bytes> golden = test::read_golden_bytes("wire/plan.ledger.hex");
  ASSERT_OK(golden);
  const Result<Plan> decoded = decode_plan(*golden);
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == plan);
}

TEST(PlanLedger, HasAHeadIfAndOnlyIfItHasRecords) {
  Plan plan = plan_with(PrivacyRules{});
  const Bytes without = encode(plan);
  plan.ledger.records = UINT64_MAX;
  EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, "ledger must have a head");
  plan.ledger.head.bytes[31] = 1;
  EXPECT_OK(decode_plan(encode(plan)));
  EXPECT_GT(encode(plan).size(), without.size()) << "without a ledger the bytes are those of builds that knew none";
  plan.ledger.records = 0;
  EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, "ledger must have a head");
}

// The header's table as another writer may leave it: level alone, or with nothing at all.
TEST(PrivacyRules, AbsentOrEmptyAreNone) {
  const auto frame_with = [](auto make_privacy) {
    flatbuffers::FlatBufferBuilder builder;
    const auto optimizer = wire::CreateOptimizer(builder, 1, 0.1f, 0, 0, 0.9f, 0.999f, 1e-8f);
    const auto training = wire::CreateTraining(builder, 1, 1, 1, 0, optimizer);
    const auto fixed_point = wire::CreateFixedPoint(builder, 64, 0, 1, 1, 1);
    const auto update = wire::CreateUpdateRules(builder, 1, 1, 0, fixed_point);
    const auto job = builder.CreateString("j");
    const flatbuffers::Offset<wire::Privacy> privacy = make_privacy(builder);
    builder.Finish(wire::CreatePlan(builder, job, training, update, privacy));
    return build_frame(FrameKind::plan, ByteView(builder.GetBufferPointer(), builder.GetSize()));
  };
  for (const Bytes& frame : {frame_with([](auto&) { return flatbuffers::Offset<wire::Privacy>(); }),
                             frame_with([](auto& builder) { return wire::CreatePrivacy(builder); })}) {
    const Result<Plan> plan = decode_plan(frame);
    ASSERT_OK(plan);
    EXPECT_TRUE(plan->privacy == PrivacyRules{});
  }
  EXPECT_ERROR(decode_plan(frame_with([](auto& builder) { return wire::CreatePrivacy(builder, 2); })),
               ErrorCode::malformed, "cipher_suite");
  EXPECT_ERROR(decode_plan(frame_with([](auto& builder) { return wire::CreatePrivacy(builder, 3, 2, 0, 0, 1); })),
               ErrorCode::malformed, "ring_bits");
}

TEST(PrivacyRules, WithAnyByteChangedOrCutAreAnErrorOrAPlan) {
  const Bytes frame = encode(plan_with(rules_of(SecurityLevel::active_dp)));
  const Result<Frame> parsed = parse_frame(frame);
  ASSERT_OK(parsed);
  int decoded = 0;
  for (size_t at = 0; at < parsed->header.size(); ++at) {
    for (const int value : {0, 1, 3, 0x3f, 0x7f, 0x80, 0xc0, 0xff, frame[kPreludeBytes + at] + 1}) {
      Bytes changed = frame;
      changed[kPreludeBytes + at] = static_cast<uint8_t>(value);
      decoded += test::decodes_and_reencodes<Plan>(changed) ? 1 : 0;
    }
    test::decodes_and_reencodes<Plan>(build_frame(FrameKind::plan, parsed->header.first(at)));
  }
  EXPECT_GT(decoded, 20);
}

TEST(PrivacyRules, RandomOnesTravelOrAreRefusedOnBothEnds) {
  Prng prng(7);
  int good = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    PrivacyRules rules{.level = static_cast<SecurityLevel>(prng.below(4)),
                       .cohort_min = static_cast<uint32_t>(prng.below(300)),
                       .roster_max = 200 + static_cast<uint32_t>(prng.below(300)),
                       .corrupt_share = prng.uniform() * 1.1,
                       .dropout_share = prng.uniform() * 1.1,
                       .cipher_suite = static_cast<uint8_t>(prng.below(4)),
                       .encoding = {.fraction_bits = static_cast<uint32_t>(prng.below(24)),
                                    .ring_bits = static_cast<uint32_t>(prng.below(70)),
                                    .clip_norm = prng.uniform() * 4,
                                    .weight_max = static_cast<uint32_t>(prng.below(40)),
                                    .contributors_max = static_cast<uint32_t>(prng.below(1000)),
                                    .rotated = prng.chance(0.5)}};
    if (rules.level == SecurityLevel::active_dp || prng.chance(0.1)) {
      rules.noise_variance_local = prng.uniform() * 100;
      rules.epsilon_round = prng.uniform() * 8;
      rules.delta = prng.uniform() * 1e-6;
    }
    const bool valid = validate(rules).has_value();
    const Result<Plan> decoded = decode_plan(encode(plan_with(rules)));
    ASSERT_EQ(decoded.has_value(), valid) << "seed 7, trial " << trial;
    if (!valid) continue;
    ++good;
    EXPECT_TRUE(decoded->privacy == rules);
  }
  EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace coterie
