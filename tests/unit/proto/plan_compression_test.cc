// What a plan says of updates that each device makes small for itself (ADR 137), and what does not go with it.
#include <gtest/gtest.h>

#include <functional>

#include "proto/codec/codec.h"
#include "proto/generated/wire_generated.h"
#include "proto/messages/plan_features.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;

template <typename Change>
void expect_bad(std::string_view words, Change change) {
  EXPECT_ERROR(validate(changed<Plan>(change)), ErrorCode::invalid_argument, words);
  test::expect_rejected<Plan>(words, change);
}

template <typename Change>
void expect_good(Change change) {
  EXPECT_OK(validate(changed<Plan>(change)));
  test::expect_accepted<Plan>(change);
}

void send_largest(Plan& plan) {
  plan.update.encoding = UpdateEncoding::top_k;
  plan.update.clip_l2 = 0;
  plan.update.top_k = {.sent_count = plan.update.value_count / 10, .bits = 32, .has_error_feedback = true};
}

TEST(Plan, LimitsUpdatesOfTheLargestValuesByName) {
  expect_good(send_largest);
  for (const uint32_t bits : {2u, 16u}) expect_good([bits](Plan& p) { send_largest(p), p.update.top_k.bits = bits; });
  for (const uint32_t bits : {0u, 1u, 17u, 31u, 33u}) {
    expect_bad("bits must be 32", [bits](Plan& p) { send_largest(p), p.update.top_k.bits = bits; });
  }
  expect_bad("top_k must be absent", [](Plan& p) { p.update.top_k.sent_count = 1; });
  expect_bad("sent_count", [](Plan& p) { send_largest(p), p.update.top_k.sent_count = 0; });
  expect_bad("sent_count", [](Plan& p) { send_largest(p), p.update.top_k.sent_count = p.update.value_count + 1; });
  expect_bad("sent_count", [](Plan& p) { send_largest(p), p.update.top_k.sent_count = p.update.value_count >> 17; });
  expect_bad("quantization must be absent", [](Plan& p) { send_largest(p), p.update.quantization.bits = 4; });
  expect_bad("clip_l2 must be 0 with error feedback", [](Plan& p) { send_largest(p), p.update.clip_l2 = 1; });
  expect_good([](Plan& p) { send_largest(p), p.update.clip_l2 = 1, p.update.top_k.has_error_feedback = false; });
  expect_bad("level must be none", [](Plan& p) {
    send_largest(p);
    p.privacy = {.level = SecurityLevel::active, .cohort_min = 10, .corrupt_share = 0.1, .cipher_suite = 1};
  });
  expect_bad("correction and personal must be absent", [](Plan& p) {
    send_largest(p);
    p.training.correction = {CorrectionKind::feddyn, 0.1f};
  });
  expect_bad("staleness", [](Plan& p) { send_largest(p), p.staleness = {.versions_max = 2, .exponent = 0.5f}; });
}

void turn_alone(Plan& plan) {
  plan.update.encoding = UpdateEncoding::eden;
  plan.update.quantization = {.bits = 1};
}

TEST(Plan, LimitsUpdatesOfEdenByName) {
  expect_good(turn_alone);
  expect_good([](Plan& p) { turn_alone(p), p.update.quantization.bits = 4, p.update.clip_l2 = 1; });
  for (const uint32_t bits : {0u, 5u}) {
    expect_bad("bits must be in [1, 4]", [bits](Plan& p) { turn_alone(p), p.update.quantization.bits = bits; });
  }
  expect_bad("bits alone", [](Plan& p) { turn_alone(p), p.update.quantization.rotated = true; });
  expect_bad("bits alone", [](Plan& p) { turn_alone(p), p.update.quantization.contributors_max = 10; });
  expect_bad("value_count must be at least 256", [](Plan& p) { turn_alone(p), p.update.value_count = 255; });
  expect_good([](Plan& p) { turn_alone(p), p.update.value_count = 256; });
  expect_bad("level must be none", [](Plan& p) {
    turn_alone(p);
    p.privacy = {.level = SecurityLevel::active, .cohort_min = 10, .corrupt_share = 0.1, .cipher_suite = 1};
  });
  expect_bad("staleness", [](Plan& p) { turn_alone(p), p.staleness = {.versions_max = 2, .exponent = 0.5f}; });
}

TEST(Plan, SaysOtherEncodingsWhereOlderDevicesLook) {
  const auto encoding_of = [](const std::function<void(Plan&)>& change) {
    const Bytes bytes = encode(changed<Plan>(change));
    const Result<Frame> frame = parse_frame(bytes, FrameKind::plan);
    EXPECT_OK(frame);
    return flatbuffers::GetRoot<wire::Plan>(frame->header.data())->update()->encoding();
  };
  EXPECT_EQ(encoding_of(send_largest), 5) << "none that was known before";
  EXPECT_EQ(encoding_of(turn_alone), 6);
}

TEST(Plan, NamesItsOtherEncodingsToWhoDrawsDevices) {
  EXPECT_EQ(features_of(changed<Plan>(send_largest)), plan_feature::kTopK);
  EXPECT_EQ(features_of(changed<Plan>(turn_alone)), plan_feature::kEden);
  EXPECT_EQ(features_of(changed<Plan>([](Plan&) {})), 0u);
}

}  // namespace
}  // namespace coterie
