#include <cstring>
#include <limits>

#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;
using M = UpdateHeader;

TEST(UpdateCodec, NamesTheFieldItRejects) {
  expect_rejected<M>("encoding", [](M& m) { m.encoding = static_cast<UpdateEncoding>(0); });
  expect_rejected<M>("encoding", [](M& m) { m.encoding = static_cast<UpdateEncoding>(7); });
  expect_rejected<M>("weight must be at least 1", [](M& m) { m.weight = 0; });
  expect_rejected<M>("loss_sum", [](M& m) { m.loss_sum = std::numeric_limits<double>::quiet_NaN(); });
  expect_rejected<M>("loss_sum", [](M& m) { m.loss_sum = std::numeric_limits<double>::infinity(); });
  expect_rejected<M>("correct must be at most examples", [](M& m) { m.correct = m.examples + 1; });
  expect_accepted<M>([](M& m) { m.correct = m.examples; });
}

TEST(UpdateCodec, TakesExactlyThePromisedLevels) {
  M header = test::MessageTraits<M>::samples().typical;
  header.encoding = UpdateEncoding::quantized;
  header.value_count = 10;
  const auto with = [&](uint32_t bits, size_t size) {
    M changed = header;
    changed.bits = bits;
    const Bytes head = encode_head(changed);
    return build_frame(FrameKind::update, Bytes(head.begin() + kPreludeBytes, head.end()), Bytes(size));
  };
  const auto decoded = decode_update(with(3, 4));
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->header.bits, 3u);
  for (const size_t size : {0u, 3u, 5u, 40u}) {
    EXPECT_ERROR(decode_update(with(3, size)), ErrorCode::malformed, "value_count says 10 levels of 3 bits");
  }
  EXPECT_ERROR(decode_update(with(0, 0)), ErrorCode::malformed, "bits must be in [1, 16]");
  EXPECT_ERROR(decode_update(with(17, 22)), ErrorCode::malformed, "bits must be in [1, 16]");
  header.value_count = (1ull << 62) + 10;  // times 4 it is 40, modulo 2^64
  EXPECT_ERROR(decode_update(with(4, 5)), ErrorCode::malformed, "levels of 4 bits");
  header.encoding = UpdateEncoding::float32;
  header.value_count = 10;
  EXPECT_ERROR(decode_update(with(4, 40)), ErrorCode::malformed, "0 of another");
}

// What the largest values and eden have in their heads, and nothing else has.
TEST(UpdateCodec, NamesWhatOnlySomeEncodingsHave) {
  const auto sized = [](M header, size_t size) {
    const Bytes head = encode_head(header);
    return decode_update(build_frame(FrameKind::update, Bytes(head.begin() + kPreludeBytes, head.end()), Bytes(size)));
  };
  M top_k = test::MessageTraits<M>::samples().typical, eden = top_k;
  top_k.encoding = UpdateEncoding::top_k;
  top_k.value_count = 20, top_k.sent_count = 3, top_k.bits = 3, top_k.scale = 0.5f;
  eden.encoding = UpdateEncoding::eden;
  eden.value_count = 300, eden.bits = 1, eden.scale = 0.5f, eden.rotation_seed = 1ull << 63;
  const auto read = sized(top_k, 4);
  ASSERT_OK(read);
  EXPECT_EQ(read->header, top_k);
  const auto turned = sized(eden, 38);
  ASSERT_OK(turned);
  EXPECT_EQ(turned->header, eden);
  const auto expect_bad = [&](const char* words, M header, auto change) {
    const size_t size = header.encoding == UpdateEncoding::eden ? 38 : 4;
    change(header);
    EXPECT_ERROR(sized(header, size), ErrorCode::malformed, words);
  };
  for (const uint32_t bits : {0u, 1u, 17u, 31u, 33u}) expect_bad("bits must be", top_k, [&](M& m) { m.bits = bits; });
  for (const uint32_t bits : {0u, 5u, 32u}) expect_bad("bits must be", eden, [&](M& m) { m.bits = bits; });
  for (const uint64_t sent : {uint64_t{0}, uint64_t{2}, uint64_t{5}, uint64_t{21}, UINT64_MAX}) {
    expect_bad("value_count says 20 values", top_k, [&](M& m) { m.sent_count = sent; });
  }
  expect_bad("value_count says", top_k, [](M& m) { m.value_count = UINT64_MAX; });
  expect_bad("value_count says", eden, [](M& m) { m.value_count = 305; });
  expect_bad("value_count says", eden, [](M& m) { m.value_count = 1ull << 62, m.bits = 4; });
  expect_bad("sent_count must be 0", eden, [](M& m) { m.sent_count = 1; });
  expect_bad("rotation_seed must be 0", top_k, [](M& m) { m.rotation_seed = 1; });
  const float inf = std::numeric_limits<float>::infinity();
  for (const float scale : {-0.5f, inf, std::numeric_limits<float>::quiet_NaN()}) {
    for (const M& header : {top_k, eden}) expect_bad("scale must be", header, [&](M& m) { m.scale = scale; });
  }
  expect_bad("scale must be", top_k, [](M& m) { m.bits = 32; });  // values are no levels
  expect_rejected<M>("scale must be", [](M& m) { m.scale = 1; });
  expect_rejected<M>("sent_count must be", [](M& m) { m.sent_count = 1; });
  expect_rejected<M>("rotation_seed must be", [](M& m) { m.rotation_seed = 1; });
}

// The same header before payloads of other sizes: a value more, a value less, a byte more, none, and sizes that only
// match modulo 2^64.
TEST(UpdateCodec, TakesExactlyThePromisedValues) {
  M header = test::MessageTraits<M>::samples().typical;
  header.value_count = 10;
  const Bytes head = encode_head(header);
  const Bytes header_bytes(head.begin() + kPreludeBytes, head.end());
  const auto with_payload = [&](size_t size) { return build_frame(FrameKind::update, header_bytes, Bytes(size)); };
  EXPECT_OK(decode_update(with_payload(40)));
  for (const size_t size : {0u, 36u, 39u, 41u, 43u, 44u}) {
    EXPECT_ERROR(decode_update(with_payload(size)), ErrorCode::malformed, "value_count says 10");
  }
  header.value_count = (1ull << 62) + 10;
  const Bytes overflowing = encode_head(header);
  Bytes frame =
      build_frame(FrameKind::update, Bytes(overflowing.begin() + kPreludeBytes, overflowing.end()), Bytes(40));
  EXPECT_ERROR(decode_update(frame), ErrorCode::malformed, "value_count says 4611686018427387914");
}

TEST(UpdateCodec, GivesTheValuesInPlaceAndAligned) {
  M header = test::MessageTraits<M>::samples().typical;
  header.value_count = 3;
  const float values[] = {1.5f, -0.0f, 3e38f};
  Bytes payload(sizeof values);
  std::memcpy(payload.data(), values, sizeof values);
  const Bytes frame = test::frame_of(header, payload);
  const Result<Decoded<M>> decoded = decode_update(frame);
  ASSERT_OK(decoded);
  const std::span<const float> view = payload_as<float>(decoded->payload);
  ASSERT_EQ(view.size(), 3u);
  EXPECT_EQ(std::memcmp(view.data(), values, sizeof values), 0);
  EXPECT_EQ(static_cast<const void*>(view.data()), frame.data() + frame.size() - sizeof values) << "no copy";
}

}  // namespace
}  // namespace coterie
