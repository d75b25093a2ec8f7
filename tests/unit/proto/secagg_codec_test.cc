// Which field of a secure aggregation message its decoder names.
#include <string>

#include "proto/codec/limits.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;
using test::expect_accepted;
using test::expect_rejected;

constexpr uint32_t kLast = kRosterSizeMax - 1;

TEST(KeyAdvertCodec, NamesTheFieldItRejects) {
  using M = KeyAdvert;
  expect_rejected<M>("key_algorithm", [](M& m) { m.identity.key_algorithm = static_cast<KeyAlgorithm>(0); });
  expect_rejected<M>("key_algorithm", [](M& m) { m.identity.key_algorithm = static_cast<KeyAlgorithm>(3); });
  expect_rejected<M>("public_key must have 1 to 128", [](M& m) { m.identity.public_key.clear(); });
  expect_rejected<M>("public_key must have 1 to 128", [](M& m) { m.identity.public_key.resize(129); });
  expect_rejected<M>("certificate must have 0 to 1024", [](M& m) { m.identity.certificate.resize(1025); });
  expect_rejected<M>("signature must have 0 to 128", [](M& m) { m.signature.resize(129); });
  expect_accepted<M>([](M& m) { m.identity.certificate.clear(); });
  expect_accepted<M>([](M& m) { m.signature.clear(); });
}

TEST(RosterSlotCodec, NamesTheFieldItRejects) {
  using M = RosterSlot;
  expect_rejected<M>("size must be in [2, 10000], is 1", [](M& m) { m.device = 0, m.size = 1; });
  expect_rejected<M>("size must be in [2, 10000], is 10001", [](M& m) { m.size = kRosterSizeMax + 1; });
  expect_rejected<M>("device must be below 300, is 300", [](M& m) { m.device = m.size; });
  expect_rejected<M>("proof must have at most 14 digests, has 15", [](M& m) { m.proof.resize(15); });
  expect_accepted<M>([](M& m) { m.device = m.size - 1; });
  expect_accepted<M>([](M& m) { m.proof.resize(14); });
}

TEST(HolderChoiceCodec, NamesTheFieldItRejects) {
  using M = HolderChoice;
  expect_rejected<M>("device must be below 10000", [](M& m) { m.device = kRosterSizeMax; });
  expect_rejected<M>("holders must be 1 to 1024 devices, are 0", [](M& m) { m.holders.clear(); });
  expect_rejected<M>("holders must ascend strictly", [](M& m) { m.holders = {2, 2}; });
  expect_rejected<M>("holders must ascend strictly", [](M& m) { m.holders = {5, 2}; });
  expect_rejected<M>("holders must be below 10000", [](M& m) { m.holders = {2, kRosterSizeMax}; });
  expect_rejected<M>("holders must not have the device itself", [](M& m) { m.holders = {2, m.device}; });
  expect_accepted<M>([](M& m) { m.holders = {2, kLast}; });
}

TEST(RosterViewCodec, NamesTheFieldItRejects) {
  using M = RosterView;
  expect_rejected<M>("size must be in [2, 10000]", [](M& m) { m.size = 1; });
  expect_rejected<M>("size must be in [2, 10000]", [](M& m) { m.size = kRosterSizeMax + 1; });
  expect_rejected<M>("device must be below 11", [](M& m) { m.device = 11; });
  expect_rejected<M>("entry must be below 11, is 11", [](M& m) { m.entries.back().device = 11; });
  expect_rejected<M>("entries must ascend strictly", [](M& m) { m.entries[1].device = m.entries[0].device; });
  expect_rejected<M>("entries must ascend strictly", [](M& m) { std::swap(m.entries[0], m.entries[1]); });
  expect_rejected<M>("entries must have the device itself", [](M& m) { m.device = 2; });
  expect_rejected<M>("entries must have the device itself", [](M& m) { m.entries.clear(); });
  expect_rejected<M>("key_algorithm", [](M& m) { m.entries[1].advert.identity.key_algorithm = {}; });
  expect_rejected<M>("certificate", [](M& m) { m.entries[2].advert.identity.certificate.resize(1025); });
}

TEST(SealedSharesCodec, NamesTheFieldItRejects) {
  using M = SealedShares;
  expect_rejected<M>("device must be below 10000", [](M& m) { m.device = kRosterSizeMax; });
  expect_rejected<M>("peers must ascend strictly", [](M& m) { m.boxes[1].peer = m.boxes[0].peer; });
  expect_rejected<M>("peers must ascend strictly", [](M& m) { std::swap(m.boxes[0], m.boxes[1]); });
  expect_rejected<M>("peers must be below 10000", [](M& m) { m.boxes[1].peer = kRosterSizeMax; });
  expect_rejected<M>("peers must not have the device itself", [](M& m) { m.boxes[1].peer = m.device; });
}

TEST(ShareInboxCodec, NamesTheFieldItRejects) {
  using M = ShareInbox;
  expect_rejected<M>("present must ascend strictly", [](M& m) { m.present = {0, 7, 7}; });
  expect_rejected<M>("present must be below 10000", [](M& m) { m.present = {0, 7, kRosterSizeMax}; });
  expect_rejected<M>("peers must ascend strictly", [](M& m) { std::swap(m.boxes[0], m.boxes[1]); });
  expect_rejected<M>("peers must be below 10000", [](M& m) { m.boxes[1].peer = kRosterSizeMax; });
  expect_rejected<M>("peers must all be present", [](M& m) { m.present = {0, 2, 8}; });
  expect_rejected<M>("peers must all be present", [](M& m) { m.present.clear(); });
  expect_accepted<M>([](M& m) { m.boxes.clear(); });
}

TEST(MaskedInputCodec, NamesTheFieldItRejects) {
  using M = MaskedInput;
  for (const uint8_t bits : {0, 7, 33, 63, 65, 128, 255}) {
    expect_rejected<M>("lane_bits must be in [8, 32] or 64, is " + std::to_string(bits),
                       [&](M& m) { m.lane_bits = bits; });
  }
  for (const uint8_t bits : {8, 11, 16, 31, 32, 64}) expect_accepted<M>([&](M& m) { m.lane_bits = bits; });
  expect_rejected<M>("device must be below 10000", [](M& m) { m.device = kRosterSizeMax; });
  expect_rejected<M>("unopened must ascend strictly", [](M& m) { m.unopened = {7, 7}; });
  expect_rejected<M>("unopened must be below 10000", [](M& m) { m.unopened = {7, kRosterSizeMax}; });
  expect_rejected<M>("unopened must not have the device itself", [](M& m) { m.unopened = {m.device}; });
}

// A lane more, a lane less, a byte more, none, and a count that only matches modulo 2^64.
TEST(MaskedInputCodec, TakesExactlyThePromisedLanes) {
  MaskedInput message = changed<MaskedInput>([](MaskedInput& m) { m.lane_bits = 16, m.lane_count = 10; });
  const auto with_payload = [&](size_t size) {
    const Bytes head = encode_head(message);
    return build_frame(FrameKind::masked_input, ByteView(head).subspan(kPreludeBytes), Bytes(size));
  };
  EXPECT_OK(decode_masked_input(with_payload(20)));
  for (const size_t size : {0u, 10u, 18u, 19u, 21u, 22u, 40u, 80u}) {
    EXPECT_ERROR(decode_masked_input(with_payload(size)), ErrorCode::malformed, "not what the header promises");
  }
  message.lane_bits = 11;
  EXPECT_OK(decode_masked_input(with_payload(14)));
  for (const size_t size : {0u, 13u, 15u, 20u}) {
    EXPECT_ERROR(decode_masked_input(with_payload(size)), ErrorCode::malformed, "not what the header promises");
  }
  message.lane_bits = 16;
  message.lane_count = (1ull << 63) + 10;
  EXPECT_ERROR(decode_masked_input(with_payload(20)), ErrorCode::malformed, "not what the header promises");
}

TEST(MaskedInputCodec, ReadsTheHeadWhileTheLanesAreOnTheirWay) {
  MaskedInput message = changed<MaskedInput>([](MaskedInput& m) { m.lane_count = 1'000'000; });
  const Bytes head = encode_head(message);
  const Result<Prelude> prelude = parse_prelude(head);
  ASSERT_OK(prelude);
  EXPECT_EQ(prelude->payload_bytes, 4'000'000u);
  const ByteView header = ByteView(head).subspan(kPreludeBytes, prelude->header_bytes);
  const Result<MaskedInput> decoded = decode_masked_input_head(*prelude, header);
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == message);
  Prelude other = *prelude;
  other.payload_bytes -= 4;
  EXPECT_ERROR(decode_masked_input_head(other, header), ErrorCode::malformed, "payload");
  other = *prelude;
  other.kind = FrameKind::update;
  EXPECT_ERROR(decode_masked_input_head(other, header), ErrorCode::malformed, "is not a masked_input");
}

// A set of survivors has one form: otherwise devices that saw the same set could sign different bytes.
TEST(ConfirmRequestCodec, TakesOneFormOfASetAlone) {
  using M = ConfirmRequest;
  const auto set = [](uint32_t size, Bytes bits) { return [=](M& m) { m.survivors = {size, bits}; }; };
  expect_rejected<M>("size must be in [2, 10000], is 1", set(1, {1}));
  expect_rejected<M>("size must be in [2, 10000], is 10001", set(kRosterSizeMax + 1, Bytes(1251)));
  expect_rejected<M>("survivors must have 2 to 2 bytes, has 1", set(9, {1}));
  expect_rejected<M>("survivors must have 2 to 2 bytes, has 3", set(9, {1, 1, 0}));
  expect_rejected<M>("survivors must have 1 to 1 bytes, has 0", set(8, {}));
  for (uint32_t bit = 9; bit < 16; ++bit) {
    expect_rejected<M>("survivors must have no bit from 9 on", set(9, {0xff, static_cast<uint8_t>(1 << (bit - 8))}));
  }
  expect_accepted<M>(set(9, {0xff, 0x01}));
  expect_accepted<M>(set(8, {0xff}));
  expect_accepted<M>(set(15, {0xff, 0x7f}));
  expect_rejected<M>("survivors must have no bit from 15 on", set(15, {0, 0x80}));
}

TEST(ConfirmationCodec, NamesTheFieldItRejects) {
  using M = Confirmation;
  expect_rejected<M>("device must be below 10000", [](M& m) { m.device = kRosterSizeMax; });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.signature.clear(); });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.signature.resize(129); });
}

TEST(UnmaskRequestCodec, NamesTheFieldItRejects) {
  using M = UnmaskRequest;
  expect_rejected<M>("survivors must have no bit from 11 on", [](M& m) { m.survivors.bits[1] |= 0x08; });
  expect_rejected<M>("confirmation must be below 11, is 11", [](M& m) { m.confirmations[1].device = 11; });
  expect_rejected<M>("confirmations must ascend strictly", [](M& m) { m.confirmations[1].device = 0; });
  expect_rejected<M>("confirmations must ascend strictly",
                     [](M& m) { std::swap(m.confirmations[0], m.confirmations[1]); });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.confirmations[0].signature.clear(); });
  expect_rejected<M>("signature must have 1 to 128", [](M& m) { m.confirmations[0].signature.resize(129); });
  expect_accepted<M>([](M& m) { m.confirmations.clear(); });
}

// Two shares of one device, of whatever kinds, would be a list that does not ascend.
TEST(UnmaskingCodec, NamesTheFieldItRejects) {
  using M = Unmasking;
  expect_rejected<M>("device must be below 10000", [](M& m) { m.device = kRosterSizeMax; });
  expect_rejected<M>("devices must ascend strictly", [](M& m) { m.shares[1].device = m.shares[0].device; });
  expect_rejected<M>("devices must ascend strictly", [](M& m) { std::swap(m.shares[0], m.shares[1]); });
  expect_rejected<M>("devices must be below 10000", [](M& m) { m.shares[2].device = kRosterSizeMax; });
  expect_rejected<M>("kind must be 1 (seed) or 2", [](M& m) { m.shares[1].kind = static_cast<ShareKind>(0); });
  expect_rejected<M>("kind must be 1 (seed) or 2", [](M& m) { m.shares[1].kind = static_cast<ShareKind>(3); });
  expect_accepted<M>([](M& m) { m.shares.clear(); });
}

}  // namespace
}  // namespace coterie
