// What must hold for every message alike: round trips, golden bytes, and no byte sequence that does harm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "proto/codec/limits.h"
#include "tests/support/golden.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"

namespace coterie {
namespace {

using test::decode;
using test::frame_of;
using test::MessageTraits;

template <typename Message>
class EveryMessage : public testing::Test {
 protected:
  struct Named {
    std::string name;
    Message message;
  };
  static std::string kind() { return std::string(to_string(MessageTraits<Message>::kKind)); }
  static std::vector<Named> samples() {
    test::Samples<Message> all = MessageTraits<Message>::samples();
    return {{"minimal", all.minimal}, {"typical", all.typical}, {"extreme", all.extreme}};
  }
  static std::vector<Bytes> frames() {
    std::vector<Bytes> all;
    for (const Named& sample : samples()) all.push_back(frame_of(sample.message));
    return all;
  }
};

struct KindAsName {
  template <typename Message>
  static std::string GetName(int) {
    return std::string(to_string(MessageTraits<Message>::kKind));
  }
};

using Messages =
    testing::Types<EnrollRequest, EnrollReply, CheckinRequest, RetryWindow, Assignment, Plan, UpdateHeader, Receipt,
                   ErrorReply, KeyAdvert, RosterSlot, HolderChoice, RosterView, SealedShares, ShareInbox, MaskedInput,
                   ConfirmRequest, Confirmation, UnmaskRequest, Unmasking, LogProof, ModelGraph, CheckpointHeader,
                   PartialSumHeader, OptimizerStateHeader, DatasetHeader, ParticipantState>;
TYPED_TEST_SUITE(EveryMessage, Messages, KindAsName);

TYPED_TEST(EveryMessage, DecodesToWhatWasEncoded) {
  for (const auto& sample : this->samples()) {
    SCOPED_TRACE(sample.name);
    const Bytes frame = frame_of(sample.message);
    const Result<Decoded<TypeParam>> decoded = decode<TypeParam>(frame);
    ASSERT_OK(decoded);
    EXPECT_TRUE(decoded->header == sample.message);
    EXPECT_EQ(frame_of(decoded->header, decoded->payload), frame) << "payload included";
  }
}

// The bytes themselves are a promise: files and peers of older builds have them, and digests are made of them.
TYPED_TEST(EveryMessage, HasTheGoldenBytes) {
  for (const auto& sample : this->samples()) {
    const std::string name = "wire/" + this->kind() + "." + sample.name + ".hex";
    SCOPED_TRACE(name);
    test::expect_golden_bytes(name, frame_of(sample.message));
    const Result<Bytes> golden = test::read_golden_bytes(name);
    ASSERT_OK(golden);
    const Result<Decoded<TypeParam>> decoded = decode<TypeParam>(*golden);
    ASSERT_OK(decoded);
    EXPECT_TRUE(decoded->header == sample.message);
  }
}

TYPED_TEST(EveryMessage, DecodesFromAnyAlignment) {
  for (const auto& sample : this->samples()) {
    const Bytes frame = frame_of(sample.message);
    for (size_t shift = 1; shift < 8; ++shift) {
      Bytes shifted(shift);
      shifted.insert(shifted.end(), frame.begin(), frame.end());
      const Result<Decoded<TypeParam>> decoded = decode<TypeParam>(ByteView(shifted).subspan(shift));
      ASSERT_OK(decoded);
      EXPECT_TRUE(decoded->header == sample.message);
    }
  }
}

TYPED_TEST(EveryMessage, IsAnErrorWhenCutAnywhere) {
  for (const Bytes& frame : this->frames()) {
    for (size_t size = 0; size < frame.size(); ++size) {
      // A copy that ends where the bytes end, for the address sanitizer to see a read beyond it.
      const Bytes cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size));
      ASSERT_ERROR(decode<TypeParam>(cut), ErrorCode::malformed, "frame") << size;
    }
  }
}

TYPED_TEST(EveryMessage, DoesNoHarmWhenItsHeaderIsCutAnywhere) {
  for (const Bytes& bytes : this->frames()) {
    const Result<Frame> frame = parse_frame(bytes);
    ASSERT_OK(frame);
    for (size_t size = 0; size < frame->header.size(); ++size) {
      const Bytes cut = build_frame(frame->kind, frame->header.first(size), frame->payload);
      test::decodes_and_reencodes<TypeParam>(cut);
    }
    EXPECT_FALSE(decode<TypeParam>(build_frame(frame->kind, {}, frame->payload)));
    EXPECT_FALSE(decode<TypeParam>(build_frame(frame->kind, frame->header.first(7), frame->payload)));
  }
}

TYPED_TEST(EveryMessage, WithAnyBitOfThePreludeFlippedIsAnErrorOrTheSame) {
  for (const auto& sample : this->samples()) {
    const Bytes frame = frame_of(sample.message);
    int errors = 0;
    for (size_t bit = 0; bit < kPreludeBytes * 8; ++bit) {
      Bytes flipped = frame;
      flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const Result<Decoded<TypeParam>> decoded = decode<TypeParam>(flipped);
      if (!decoded) {
        ++errors;
        continue;
      }
      EXPECT_TRUE(decoded->header == sample.message) << "bit " << bit;
    }
    // Only header_bytes can change a little without effect: padding before the payload is as good as padding behind the
    // header.
    EXPECT_GE(errors, static_cast<int>(kPreludeBytes * 8 - 6));
  }
}

TYPED_TEST(EveryMessage, WithAByteTooManyIsAnError) {
  for (Bytes& frame : this->frames()) {
    frame.push_back(0);
    EXPECT_ERROR(decode<TypeParam>(frame), ErrorCode::malformed, "its sizes say");
  }
}

TYPED_TEST(EveryMessage, IsNotMistakenForAnother) {
  test::for_each_message([&]<typename Other>() {
    if (std::is_same_v<Other, TypeParam>) return;
    EXPECT_ERROR(decode<TypeParam>(frame_of(MessageTraits<Other>::samples().typical)), ErrorCode::malformed,
                 "expected " + this->kind());
  });
}

TYPED_TEST(EveryMessage, WithAHeaderThatIsNoFlatBufferIsAnError) {
  for (const Bytes& bytes : this->frames()) {
    const Result<Frame> frame = parse_frame(bytes);
    ASSERT_OK(frame);
    const Bytes ones(frame->header.size(), 0xff);
    EXPECT_ERROR(decode<TypeParam>(build_frame(frame->kind, ones, frame->payload)), ErrorCode::malformed, "FlatBuffer");
    const Bytes zeros(frame->header.size(), 0);
    EXPECT_FALSE(decode<TypeParam>(build_frame(frame->kind, zeros, frame->payload)));
  }
}

// Every byte of a header in turn. Extreme samples are left to random damage: they have tens of thousands.
TYPED_TEST(EveryMessage, WithAnyByteOfItsHeaderChangedIsAnErrorOrAValue) {
  const auto all = MessageTraits<TypeParam>::samples();
  for (const TypeParam* sample : {&all.minimal, &all.typical}) {
    const Bytes frame = frame_of(*sample);
    const Result<Prelude> prelude = parse_prelude(frame);
    ASSERT_OK(prelude);
    for (size_t at = kPreludeBytes; at < kPreludeBytes + prelude->header_bytes; ++at) {
      for (const int value : {0, 0xff, frame[at] + 1, frame[at] ^ 0x80}) {
        Bytes changed = frame;
        changed[at] = static_cast<uint8_t>(value);
        test::decodes_and_reencodes<TypeParam>(changed);
      }
    }
  }
}

// Random damage behind the prelude, mostly in the header. decodes_and_reencodes asserts its property; the counts show
// that both outcomes occur, that is, that the damage is neither harmless nor always noticed at the door.
TYPED_TEST(EveryMessage, SurvivesRandomDamage) {
  constexpr uint64_t kSeed = 2024;
  constexpr int kTrials = 3000;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  int decoded = 0;
  const std::vector<Bytes> frames = this->frames();
  for (int trial = 0; trial < kTrials; ++trial) {
    Bytes frame = frames[prng.below(frames.size())];
    const Result<Prelude> prelude = parse_prelude(frame);
    ASSERT_OK(prelude);
    for (uint64_t left = 1 + prng.below(6); left > 0; --left) {
      const bool in_header = prng.chance(0.9) || prelude->payload_bytes == 0;
      const uint64_t at = in_header ? kPreludeBytes + prng.below(prelude->header_bytes)
                                    : prelude->payload_offset() + prng.below(prelude->payload_bytes);
      // Small steps and extremes find more than uniform bytes do.
      const uint8_t values[] = {0,
                                1,
                                0x7f,
                                0x80,
                                0xff,
                                static_cast<uint8_t>(frame[at] + 1),
                                static_cast<uint8_t>(frame[at] - 1),
                                static_cast<uint8_t>(prng.next())};
      frame[at] = values[prng.below(std::size(values))];
    }
    if (test::decodes_and_reencodes<TypeParam>(frame)) ++decoded;
  }
  EXPECT_GT(decoded, 0);
  EXPECT_LT(decoded, kTrials);
}

}  // namespace
}  // namespace coterie
