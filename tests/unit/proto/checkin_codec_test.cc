#include <string>

#include "proto/codec/limits.h"
#include "proto/messages/plan_features.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;

TEST(EnrollRequestCodec, NamesTheFieldItRejects) {
  using M = EnrollRequest;
  expect_rejected<M>("token must have 1 to 256 bytes, has 0", [](M& m) { m.token.clear(); });
  expect_rejected<M>("token must have 1 to 256 bytes, has 257", [](M& m) { m.token.assign(257, 't'); });
  expect_rejected<M>("key_algorithm", [](M& m) { m.key_algorithm = static_cast<KeyAlgorithm>(0); });
  expect_rejected<M>("key_algorithm", [](M& m) { m.key_algorithm = static_cast<KeyAlgorithm>(3); });
  expect_rejected<M>("public_key must have 1 to 128", [](M& m) { m.public_key.clear(); });
  expect_rejected<M>("public_key must have 1 to 128", [](M& m) { m.public_key.resize(129); });
  expect_rejected<M>("proof must have 1 to 128", [](M& m) { m.proof.clear(); });
  expect_rejected<M>("proof must have 1 to 128", [](M& m) { m.proof.resize(129); });
  expect_rejected<M>("sdk_version must have 0 to 256", [](M& m) { m.sdk_version.assign(257, 'v'); });
}

TEST(EnrollReplyCodec, NamesTheFieldItRejects) {
  using M = EnrollReply;
  expect_rejected<M>("population must have 1 to 256", [](M& m) { m.population = Population(""); });
  expect_rejected<M>("population must have 1 to 256", [](M& m) { m.population = Population(std::string(257, 'p')); });
  expect_rejected<M>("signing_key must have 1 to 128", [](M& m) { m.signing_key.clear(); });
  expect_rejected<M>("signing_key must have 1 to 128", [](M& m) { m.signing_key.resize(129); });
  expect_rejected<M>("retiring_keys has more than 8", [](M& m) { m.retiring_keys.resize(9, {Bytes(32), {}}); });
  expect_rejected<M>("retiring_keys.key must have 1 to 128", [](M& m) { m.retiring_keys = {{{}, {}}}; });
}

TEST(CheckinRequestCodec, NamesTheFieldItRejects) {
  using M = CheckinRequest;
  expect_rejected<M>("population must have 1 to 256", [](M& m) { m.population = Population(""); });
  expect_rejected<M>("population must have 1 to 256", [](M& m) { m.population = Population(std::string(257, 'p')); });
  expect_rejected<M>("sdk_version must have 0 to 256", [](M& m) { m.sdk_version.assign(257, 'v'); });
  expect_rejected<M>("wait_ms_max must be at most 600000", [](M& m) { m.wait_ms_max = 600'001; });
  expect_rejected<M>("wait_ms_max", [](M& m) { m.wait_ms_max = 0xffffffff; });
  expect_rejected<M>("refusal.reason must have 1 to 256", [](M& m) { m.refusal = Refusal{}; });
  expect_rejected<M>("refusal.reason must have 1 to 256", [](M& m) { m.refusal = Refusal{{}, std::string(257, 'r')}; });
  expect_accepted<M>([](M& m) { m.refusal = Refusal{{RoundId(3), Attempt(1)}, "separation"}; });
}

TEST(CheckinRequestCodec, OfAnOlderDeviceHasNoFeatures) {
  CheckinRequest request{.population = Population("p"), .sdk_version = "1"};
  const Bytes older = encode(request);
  EXPECT_EQ(decode_checkin_request(older)->features, 0u);
  request.features = 1ull << 63 | kKnownFeatures;
  EXPECT_EQ(decode_checkin_request(encode(request))->features, request.features);
  EXPECT_LT(older.size(), encode(request).size()) << "0 takes no bytes: the frame is that of before";
}

TEST(RefusalReason, IsOneThatIsKnownOrOther) {
  for (const std::string_view reason : refusal_reason::kAll) EXPECT_EQ(refusal_reason::known(reason), reason);
  EXPECT_EQ(refusal_reason::known("of tomorrow"), "other");
  EXPECT_EQ(refusal_reason::known(""), "other");
}

TEST(RetryWindowCodec, NamesTheFieldItRejects) {
  using M = RetryWindow;
  expect_rejected<M>("retry window must have min_ms <= max_ms", [](M& m) { m.min_ms = m.max_ms + 1; });
  expect_rejected<M>("reason must have 0 to 256", [](M& m) { m.reason.assign(257, 'r'); });
  expect_accepted<M>([](M& m) { m.min_ms = m.max_ms; });
}

TEST(AssignmentCodec, NamesTheFieldItRejects) {
  using M = Assignment;
  expect_rejected<M>("job must have 1 to 64", [](M& m) { m.job = JobId(""); });
  expect_rejected<M>("job must have 1 to 64", [](M& m) { m.job = JobId(std::string(65, 'j')); });
  expect_rejected<M>("plan_bytes", [](M& m) { m.plan_bytes = limits::kWireHeaderBytesMax + 64 + 1; });
  expect_rejected<M>("model_bytes", [](M& m) { m.model_bytes = limits::kPayloadBytesMax + 1; });
  expect_rejected<M>("model_bytes", [](M& m) { m.model_bytes = ~uint64_t{0}; });
  expect_rejected<M>("ticket must have 1 to 256", [](M& m) { m.ticket.clear(); });
  expect_rejected<M>("ticket must have 1 to 256", [](M& m) { m.ticket.resize(257); });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.signature.clear(); });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.signature.resize(129); });
}

// A receiver subtracts its own clock from this: far ends of int64 would overflow there.
TEST(AssignmentCodec, TakesOnlyTimesThatCanBeReckonedWith) {
  using M = Assignment;
  const auto at = [](int64_t ms) { return [ms](M& m) { m.not_after = wall_time_from_unix_ms(ms); }; };
  expect_rejected<M>("not_after", at(-1));
  expect_rejected<M>("not_after", at(limits::kUnixMsMax + 1));
  expect_rejected<M>("not_after", at(std::numeric_limits<int64_t>::max()));
  expect_rejected<M>("not_after", at(std::numeric_limits<int64_t>::min()));
  expect_accepted<M>(at(0));
  expect_accepted<M>(at(limits::kUnixMsMax));
}

// The largest plan frame there can be: a full header, and what precedes and pads it.
TEST(AssignmentCodec, AllowsThePlanThatIsAsLargeAsPlansGet) {
  const Bytes largest = build_frame(FrameKind::plan, Bytes(limits::kWireHeaderBytesMax));
  expect_accepted<Assignment>([&](Assignment& m) { m.plan_bytes = static_cast<uint32_t>(largest.size()); });
}

TEST(ReceiptCodec, NamesTheFieldItRejects) {
  using M = Receipt;
  expect_rejected<M>("receipt must have 1 to 128", [](M& m) { m.receipt.clear(); });
  expect_rejected<M>("receipt must have 1 to 128", [](M& m) { m.receipt.resize(129); });
}

TEST(ErrorReplyCodec, NamesTheFieldItRejects) {
  using M = ErrorReply;
  expect_rejected<M>("code must have 1 to 64", [](M& m) { m.code.clear(); });
  expect_rejected<M>("code must have 1 to 64", [](M& m) { m.code.assign(65, 'c'); });
  expect_rejected<M>("detail must have 0 to 2048", [](M& m) { m.detail.assign(2049, 'd'); });
  expect_rejected<M>("retry window must have min_ms <= max_ms", [](M& m) { m.retry_min_ms = m.retry_max_ms + 1; });
}

TEST(ErrorReplyCodec, CarriesACodeThatThisBuildDoesNotKnow) {
  expect_accepted<ErrorReply>([](ErrorReply& m) { m.code = "of_a_newer_server"; });
}

}  // namespace
}  // namespace coterie
