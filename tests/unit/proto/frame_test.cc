#include "proto/codec/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "proto/codec/limits.h"
#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

constexpr FrameKind kAllKinds[] = {FrameKind::enroll_request,  FrameKind::enroll_reply,    FrameKind::checkin_request,
                                   FrameKind::retry_window,    FrameKind::assignment,      FrameKind::plan,
                                   FrameKind::update,          FrameKind::receipt,         FrameKind::error_reply,
                                   FrameKind::key_advert,      FrameKind::roster_slot,     FrameKind::holder_choice,
                                   FrameKind::roster_view,     FrameKind::sealed_shares,   FrameKind::share_inbox,
                                   FrameKind::masked_input,    FrameKind::confirm_request, FrameKind::confirmation,
                                   FrameKind::unmask_request,  FrameKind::unmasking,       FrameKind::log_proof,
                                   FrameKind::model,           FrameKind::checkpoint,      FrameKind::partial_sum,
                                   FrameKind::optimizer_state, FrameKind::dataset,         FrameKind::participant_state,
                                   FrameKind::model_delta};

size_t header_limit(FrameKind kind) {
  if (kind == FrameKind::roster_view) return 2 * 1024 * 1024;
  if (kind == FrameKind::sealed_shares || kind == FrameKind::share_inbox || kind == FrameKind::unmask_request) {
    return 256 * 1024;
  }
  return static_cast<uint16_t>(kind) >= 100 ? limits::kFileHeaderBytesMax : limits::kWireHeaderBytesMax;
}

Bytes small_frame() { return build_frame(FrameKind::update, Bytes{1, 2, 3}, Bytes{9, 8, 7, 6}); }

template <typename T>
Bytes with(Bytes bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

TEST(Frame, HasTheLayoutItsHeaderFileDescribes) {
  Bytes expected(68);
  const uint8_t prelude[] = {'C', 'O', 'T', 'F', 1, 0, 7, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3};
  std::memcpy(expected.data(), prelude, sizeof prelude);
  const uint8_t payload[] = {9, 8, 7, 6};
  std::memcpy(expected.data() + 64, payload, sizeof payload);
  EXPECT_EQ(small_frame(), expected);
}

TEST(Frame, ComesApartAsItWasPutTogether) {
  const Bytes bytes = small_frame();
  const Result<Frame> frame = parse_frame(bytes);
  ASSERT_OK(frame);
  EXPECT_EQ(frame->kind, FrameKind::update);
  EXPECT_EQ(Bytes(frame->header.begin(), frame->header.end()), (Bytes{1, 2, 3}));
  EXPECT_EQ(Bytes(frame->payload.begin(), frame->payload.end()), (Bytes{9, 8, 7, 6}));
  EXPECT_EQ(frame->payload.data(), bytes.data() + 64) << "a view, at a multiple of 64 from the start";
}

TEST(Frame, KindsHaveUniqueStableNumbersAndNames) {
  const std::set<std::string_view> names = [] {
    std::set<std::string_view> all;
    for (FrameKind kind : kAllKinds) all.insert(to_string(kind));
    return all;
  }();
  EXPECT_EQ(names.size(), std::size(kAllKinds));
  EXPECT_FALSE(names.contains("unknown"));
  const int numbers[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  12,  13,  14,
                         15, 16, 17, 18, 19, 20, 21, 100, 101, 102, 103, 104, 105, 106};
  static_assert(std::size(numbers) == std::size(kAllKinds));
  for (size_t i = 0; i < std::size(kAllKinds); ++i) EXPECT_EQ(static_cast<int>(kAllKinds[i]), numbers[i]);
}

TEST(Frame, KnowsExactlyTheseKinds) {
  Bytes bytes = build_frame(FrameKind::update, {});
  int known = 0;
  for (uint32_t kind = 0; kind <= 0xffff; ++kind) {
    bytes = with(std::move(bytes), 6, static_cast<uint16_t>(kind));
    if (parse_frame(bytes)) ++known;
  }
  EXPECT_EQ(known, static_cast<int>(std::size(kAllKinds)));
  for (const uint16_t kind : std::initializer_list<uint16_t>{0, 22, 99, 107, 0xffff}) {
    EXPECT_ERROR(parse_frame(with(bytes, 6, kind)), ErrorCode::malformed, "unknown kind " + std::to_string(kind));
  }
}

TEST(Frame, RejectsAWrongMagicVersionOrReservedField) {
  EXPECT_ERROR(parse_frame(with(small_frame(), 3, 'G')), ErrorCode::malformed, "COTF");
  EXPECT_ERROR(parse_frame(with(small_frame(), 4, uint16_t{0})), ErrorCode::unsupported_version, "version 0");
  EXPECT_ERROR(parse_frame(with(small_frame(), 4, uint16_t{2})), ErrorCode::unsupported_version, "version 2");
  EXPECT_ERROR(parse_frame(with(small_frame(), 12, uint32_t{1})), ErrorCode::malformed, "reserved");
}

TEST(Frame, SpeaksOfTheVersionBeforeTheKind) {
  // A newer format may have kinds that we do not know: its version is what the user must hear of.
  const Bytes bytes = with(with(small_frame(), 4, uint16_t{2}), 6, uint16_t{999});
  EXPECT_ERROR(parse_frame(bytes), ErrorCode::unsupported_version, "this build speaks 1");
}

TEST(Frame, RejectsAnotherKindThanExpected) {
  EXPECT_ERROR(parse_frame(small_frame(), FrameKind::plan), ErrorCode::malformed, "is of kind update, expected plan");
}

TEST(Frame, RejectsEveryTruncationAndAnyTrailingByte) {
  const Bytes whole = small_frame();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_ERROR(parse_frame(cut), ErrorCode::malformed, "has " + std::to_string(size) + " bytes");
    EXPECT_ERROR(parse_prelude(ByteView(cut).first(std::min(size, kPreludeBytes - 1))), ErrorCode::malformed,
                 "a frame begins with 24");
  }
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_ERROR(parse_frame(longer), ErrorCode::malformed, "has 69 bytes, its sizes say 68");
}

TEST(Frame, RejectsPaddingThatIsNotZeroAtEveryPlace) {
  for (size_t offset = kPreludeBytes + 3; offset < 64; ++offset) {
    EXPECT_ERROR(parse_frame(with(small_frame(), offset, uint8_t{1})), ErrorCode::malformed, "padding") << offset;
  }
}

TEST(Frame, LimitsTheHeaderByItsKindBeforeTheBytesAreThere) {
  const auto prelude = [](FrameKind kind, uint32_t header_bytes) {
    return with(with(build_frame(FrameKind::plan, {}), 6, static_cast<uint16_t>(kind)), 8, header_bytes);
  };
  for (FrameKind kind : kAllKinds) {
    const auto limit = static_cast<uint32_t>(header_limit(kind));
    EXPECT_OK(parse_prelude(prelude(kind, limit)));
    EXPECT_ERROR(parse_prelude(prelude(kind, limit + 1)), ErrorCode::too_large, std::to_string(limit));
    EXPECT_ERROR(parse_prelude(prelude(kind, 0xffffffff)), ErrorCode::too_large, "4294967295");
  }
}

TEST(Frame, LimitsThePayloadWithoutOverflowing) {
  for (const uint64_t bytes : {limits::kPayloadBytesMax + 1, ~uint64_t{0}, ~uint64_t{0} - 63}) {
    EXPECT_ERROR(parse_prelude(with(small_frame(), 16, bytes)), ErrorCode::too_large, std::to_string(bytes));
  }
  const Result<Prelude> largest = parse_prelude(with(small_frame(), 16, limits::kPayloadBytesMax));
  ASSERT_OK(largest);
  EXPECT_EQ(largest->frame_bytes(), 64 + limits::kPayloadBytesMax);
}

TEST(Frame, OfAMessageWithoutTensorsMayNotCarryAPayload) {
  for (FrameKind kind : kAllKinds) {
    const bool tensors = kind == FrameKind::update || kind == FrameKind::masked_input || kind == FrameKind::model ||
                         kind == FrameKind::checkpoint || kind == FrameKind::partial_sum ||
                         kind == FrameKind::optimizer_state || kind == FrameKind::dataset ||
                         kind == FrameKind::model_delta;
    const Bytes bytes = with(small_frame(), 6, static_cast<uint16_t>(kind));
    if (tensors) {
      EXPECT_OK(parse_frame(bytes));
    } else {
      EXPECT_ERROR(parse_frame(bytes), ErrorCode::malformed, std::string(to_string(kind)) + " has no payload");
    }
  }
}

TEST(Frame, PayloadBeginsAtTheNextMultipleOf64) {
  for (uint32_t header_bytes = 0; header_bytes < 300; ++header_bytes) {
    const Prelude prelude{FrameKind::update, header_bytes, 0};
    EXPECT_EQ(prelude.payload_offset(), (24 + header_bytes + 63) / 64 * 64);
    EXPECT_EQ(build_frame_head(FrameKind::update, Bytes(header_bytes), 5).size(), prelude.payload_offset());
  }
}

TEST(Frame, BuildingBeyondALimitIsADefectOfOurs) {
  const test::ThrowingAsserts guard;
  EXPECT_THROW(build_frame_head(FrameKind::plan, Bytes(limits::kWireHeaderBytesMax + 1), 0), AssertionFailure);
  EXPECT_THROW(build_frame_head(FrameKind::update, {}, limits::kPayloadBytesMax + 1), AssertionFailure);
}

}  // namespace
}  // namespace coterie
