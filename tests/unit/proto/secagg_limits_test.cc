// The longest lists there can be decode, encode again and stay within their kind's limit; one entry more is refused.
// And flat lists whose parts do not fit together, which our encoder never writes.
#include <gtest/gtest.h>

#include <string>

#include "proto/codec/limits.h"
#include "proto/generated/secagg_generated.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;

// Far apart, from `first` on, the last one as high as it can be.
std::vector<uint32_t> devices(size_t count, uint32_t first = 0) {
  std::vector<uint32_t> all;
  for (size_t i = 0; i < count; ++i) all.push_back(first + static_cast<uint32_t>(i) * 9);
  all.back() = kRosterSizeMax - 1;
  return all;
}

template <typename Message>
void expect_largest(const Message& message, size_t header_bytes_max) {
  const Bytes frame = encode(message);
  const Result<Prelude> prelude = parse_prelude(frame);
  ASSERT_OK(prelude);
  EXPECT_LE(prelude->header_bytes, header_bytes_max);
  EXPECT_GT(prelude->header_bytes, header_bytes_max / 4) << "the limit is of this message's making";
  EXPECT_TRUE(test::decodes_and_reencodes<Message>(frame));
}

KeyAdvert largest_advert() { return test::MessageTraits<KeyAdvert>::samples().extreme; }

TEST(SecaggLimits, HoldTheLargestRosterView) {
  RosterView view{0, kRosterSizeMax, {}, {}, std::vector<Digest>(limits::kRosterProofDigestsMax)};
  for (const uint32_t device : devices(limits::kNeighboursMax + 1)) view.entries.push_back({device, largest_advert()});
  expect_largest(view, limits::kRosterHeaderBytesMax);
  view.proof.emplace_back();
  EXPECT_ERROR(decode_roster_view(encode(view)), ErrorCode::malformed,
               "proof must have at most 4096 digests, has 4097");
  view.proof.clear();
  view.entries.insert(view.entries.begin() + 1, {1, largest_advert()});
  EXPECT_ERROR(decode_roster_view(encode(view)), ErrorCode::malformed, "entries must be at most 1025, are 1026");
}

TEST(SecaggLimits, HoldTheMostShares) {
  SealedShares sealed{.session = {}, .device = 3, .boxes = {}};
  ShareInbox inbox{.session = {}, .present = devices(limits::kNeighboursMax), .boxes = {}};
  Unmasking unmasking{.session = {}, .device = 3, .shares = {}};
  for (const uint32_t device : devices(limits::kNeighboursMax)) {
    sealed.boxes.push_back({device, {}});
    inbox.boxes.push_back({device, {}});
    unmasking.shares.push_back({device, ShareKind::seed, {}});
  }
  expect_largest(sealed, limits::kSharesHeaderBytesMax);
  expect_largest(inbox, limits::kSharesHeaderBytesMax);
  expect_largest(unmasking, limits::kWireHeaderBytesMax);
  sealed.boxes.insert(sealed.boxes.begin() + 1, {1, {}});
  inbox.present.insert(inbox.present.begin() + 1, 1);
  unmasking.shares.insert(unmasking.shares.begin() + 1, {1, ShareKind::seed, {}});
  EXPECT_ERROR(decode_sealed_shares(encode(sealed)), ErrorCode::malformed, "peers must be 0 to 1024 devices, are 1025");
  EXPECT_ERROR(decode_share_inbox(encode(inbox)), ErrorCode::malformed, "present must be 0 to 1024 devices, are 1025");
  EXPECT_ERROR(decode_unmasking(encode(unmasking)), ErrorCode::malformed,
               "devices must be 0 to 1024 devices, are 1025");
}

TEST(SecaggLimits, HoldTheMostConfirmations) {
  const Bytes signature(limits::kSignatureBytesMax, 0xff);
  UnmaskRequest request{.session = {}, .survivors = {kRosterSizeMax, Bytes(kRosterSizeMax / 8)}, .confirmations = {}};
  for (const uint32_t device : devices(limits::kNeighboursMax)) request.confirmations.push_back({device, signature});
  expect_largest(request, limits::kSharesHeaderBytesMax);
  request.confirmations.insert(request.confirmations.begin() + 1, {1, signature});
  EXPECT_ERROR(decode_unmask_request(encode(request)), ErrorCode::malformed,
               "confirmations must be at most 1024, are 1025");
}

TEST(SecaggLimits, HoldTheMostHolders) {
  HolderChoice choice{.root = {}, .device = 3, .holders = devices(limits::kNeighboursMax)};
  EXPECT_TRUE(test::decodes_and_reencodes<HolderChoice>(encode(choice)));
  choice.holders.insert(choice.holders.begin() + 1, 1);
  EXPECT_ERROR(decode_holder_choice(encode(choice)), ErrorCode::malformed,
               "holders must be 1 to 1024 devices, are 1025");

  MaskedInput input{.session = {},
                    .device = 3,
                    .lane_bits = 16,
                    .lane_count = 1,
                    .lanes = {},
                    .unopened = devices(limits::kNeighboursMax)};
  EXPECT_TRUE(test::decodes_and_reencodes<MaskedInput>(test::frame_of(input)));
  input.unopened.insert(input.unopened.begin() + 1, 1);
  EXPECT_ERROR(decode_masked_input(test::frame_of(input)), ErrorCode::malformed,
               "unopened must be 0 to 1024 devices, are 1025");
}

TEST(SecaggLimits, AnAdvertFitsAnOrdinaryHeader) { EXPECT_LT(encode(largest_advert()).size(), 2048u); }

// A share costs its bytes and its peer's number, not a table.
TEST(SecaggLimits, AShareCostsFourBytesBesideItself) {
  const auto frame_bytes = [](size_t count) {
    SealedShares sealed{.session = {}, .device = 3, .boxes = {}};
    for (const uint32_t device : devices(count)) sealed.boxes.push_back({device, {}});
    return encode(sealed).size();
  };
  EXPECT_EQ(frame_bytes(254 + 64) - frame_bytes(254), 64 * (kSealedSharesBytes + 4));
}

const wire::Digest32 kSession;

Bytes finished(FlatBufferBuilder& builder, FrameKind kind) {
  return build_frame(kind, ByteView(builder.GetBufferPointer(), builder.GetSize()));
}

TEST(ForgedSecagg, BoxesThatAreNotOneForEachPeerAreRejected) {
  for (const size_t size : {0u, 1u, 79u, 80u, 159u, 161u, 240u}) {
    for (const bool inbox : {false, true}) {
      FlatBufferBuilder builder;
      const auto peers = builder.CreateVector(std::vector<uint32_t>{4, 5});
      const auto boxes = builder.CreateVector(Bytes(size));
      const std::string words = "boxes must have 80 bytes for each of 2, has " + std::to_string(size);
      if (inbox) {
        builder.Finish(wire::CreateShareInbox(builder, &kSession, peers, peers, boxes));
        EXPECT_ERROR(decode_share_inbox(finished(builder, FrameKind::share_inbox)), ErrorCode::malformed, words);
      } else {
        builder.Finish(wire::CreateSealedShares(builder, &kSession, 3, peers, boxes));
        EXPECT_ERROR(decode_sealed_shares(finished(builder, FrameKind::sealed_shares)), ErrorCode::malformed, words);
      }
    }
  }
}

TEST(ForgedSecagg, ListsThatAreAbsentAreEmpty) {
  FlatBufferBuilder builder;
  const auto peers = builder.CreateVector(std::vector<uint32_t>{4});
  builder.Finish(wire::CreateSealedShares(builder, &kSession, 3, peers));
  EXPECT_ERROR(decode_sealed_shares(finished(builder, FrameKind::sealed_shares)), ErrorCode::malformed,
               "boxes must have 80 bytes for each of 1, has 0");
  builder.Clear();
  const auto boxes = builder.CreateVector(Bytes(80));
  builder.Finish(wire::CreateSealedShares(builder, &kSession, 3, 0, boxes));
  EXPECT_ERROR(decode_sealed_shares(finished(builder, FrameKind::sealed_shares)), ErrorCode::malformed,
               "boxes must have 80 bytes for each of 0, has 80");
  builder.Clear();
  builder.Finish(wire::CreateSealedShares(builder, &kSession, 3));
  EXPECT_OK(decode_sealed_shares(finished(builder, FrameKind::sealed_shares)));
}

TEST(ForgedSecagg, OpenedSharesThatAreNotOneForEachDeviceAreRejected) {
  struct Case {
    size_t kinds, values;
    std::string words;
  };
  for (const Case& c : {Case{1, 64, "kinds must have 1 bytes for each of 2, has 1"},
                        {3, 64, "kinds"},
                        {0, 64, "kinds"},
                        {2, 63, "values must have 32 bytes for each of 2, has 63"},
                        {2, 96, "values"},
                        {2, 0, "values"}}) {
    FlatBufferBuilder builder;
    const auto devices = builder.CreateVector(std::vector<uint32_t>{4, 5});
    const auto kinds = builder.CreateVector(Bytes(c.kinds, 1));
    const auto values = builder.CreateVector(Bytes(c.values));
    builder.Finish(wire::CreateUnmasking(builder, &kSession, 3, devices, kinds, values));
    EXPECT_ERROR(decode_unmasking(finished(builder, FrameKind::unmasking)), ErrorCode::malformed, c.words);
  }
}

// A few kilobytes that claim to be megabytes: one table many times.
TEST(ForgedSecagg, OneEntryManyTimesIsStoppedByTheLimits) {
  FlatBufferBuilder builder;
  const auto signature = builder.CreateVector(Bytes(64));
  const std::vector entries(limits::kNeighboursMax + 1, wire::CreateSignedBy(builder, 0, signature));
  const auto confirmations = builder.CreateVector(entries);
  const auto survivors = wire::CreateSurvivorSet(builder, 8, builder.CreateVector(Bytes{0xff}));
  builder.Finish(wire::CreateUnmaskRequest(builder, &kSession, survivors, confirmations));
  EXPECT_ERROR(decode_unmask_request(finished(builder, FrameKind::unmask_request)), ErrorCode::malformed,
               "confirmations must be at most 1024");
}

}  // namespace
}  // namespace coterie
