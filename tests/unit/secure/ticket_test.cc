#include "secure/identity/ticket.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

const WallTime kNow = wall_time_from_unix_ms(1'750'000'000'000);

MacKey key(uint8_t fill) { return MacKey(std::span<const uint8_t, 32>(Bytes(32, fill))); }

DeviceId device(uint8_t fill) {
  DeviceId id;
  id.bytes.fill(fill);
  return id;
}

TicketClaims claims() {
  return {{RoundId(0x0123456789abcdef), Attempt(0x01020304)}, device(0x55), kNow + Millis(1'000)};
}

TEST(Ticket, OpensToTheClaimsItWasSealedWith) {
  const Bytes ticket = seal_ticket(claims(), key(1));
  const Result<TicketClaims> opened = open_ticket(ticket, key(1), device(0x55));
  ASSERT_OK(opened);
  EXPECT_EQ(*opened, claims());
  EXPECT_EQ(seal_ticket(claims(), key(1)), ticket) << "a reissued ticket is the same ticket";
}

TEST(Ticket, HasTheLayoutItsHeaderFileDescribes) {
  const Bytes ticket = seal_ticket(claims(), key(1));
  ASSERT_EQ(ticket.size(), 69u);
  EXPECT_EQ(to_hex(ByteView(ticket).first(37)),
            "01"                                // version
            "efcdab8967452301"                  // round
            "04030201"                          // attempt
            "55555555555555555555555555555555"  // device
            "e8df207497010000")                 // 1750000001000
      << "little-endian";
}

TicketClaims buffered_claims() {
  TicketClaims of = claims();
  Digest model;
  model.bytes.fill(0x77);
  of.handed = HandedModel{JobId("j7k2q"), ModelVersion(9), model};
  return of;
}

TEST(Ticket, OfBufferedRoundsNamesTheModelThatWasHandedOut) {
  const Bytes ticket = seal_ticket(buffered_claims(), key(1));
  const Result<TicketClaims> opened = open_ticket(ticket, key(1), device(0x55));
  ASSERT_OK(opened);
  EXPECT_EQ(*opened, buffered_claims());
  EXPECT_EQ(ticket.size(), 37u + 8 + 32 + 1 + 5 + 32);
}

TEST(Ticket, OfBufferedRoundsIsRefusedTruncatedLongerOrAltered) {
  const Bytes ticket = seal_ticket(buffered_claims(), key(1));
  for (size_t size = 0; size < ticket.size(); ++size) {
    EXPECT_ERROR(open_ticket(ByteView(ticket).first(size), key(1), device(0x55)), ErrorCode::malformed, "ticket");
  }
  for (size_t bit = 0; bit < ticket.size() * 8; ++bit) {
    Bytes changed = ticket;
    changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(open_ticket(changed, key(1), device(0x55))) << "bit " << bit;
  }
  Bytes longer = ticket;
  longer.push_back(0);
  EXPECT_ERROR(open_ticket(longer, key(1), device(0x55)), ErrorCode::malformed, "ticket");
}

TEST(Ticket, IsRefusedTruncatedAtEveryByteOrWithOneMore) {
  Bytes ticket = seal_ticket(claims(), key(1));
  for (size_t size = 0; size < ticket.size(); ++size) {
    EXPECT_ERROR(open_ticket(ByteView(ticket).first(size), key(1), device(0x55)), ErrorCode::malformed, "ticket");
  }
  ticket.push_back(0);
  EXPECT_ERROR(open_ticket(ticket, key(1), device(0x55)), ErrorCode::malformed, "ticket");
}

TEST(Ticket, IsRefusedAfterAnyBitFlip) {
  const Bytes ticket = seal_ticket(claims(), key(1));
  for (size_t bit = 0; bit < ticket.size() * 8; ++bit) {
    Bytes changed = ticket;
    changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const ErrorCode expected = bit < 8 ? ErrorCode::malformed : ErrorCode::unauthenticated;  // the version comes first
    EXPECT_ERROR(open_ticket(changed, key(1), device(0x55)), expected, "ticket") << "bit " << bit;
  }
}

TEST(Ticket, IsRefusedUnderAnotherKey) {
  EXPECT_ERROR(open_ticket(seal_ticket(claims(), key(1)), key(2), device(0x55)), ErrorCode::unauthenticated,
               "was not made by this server");
}

TEST(Ticket, IsRefusedInForeignHands) {
  EXPECT_ERROR(open_ticket(seal_ticket(claims(), key(1)), key(1), device(0x56)), ErrorCode::permission_denied,
               "another device");
}

// A stranger learns nothing from a ticket: who it belongs to is said to its maker's clients only.
TEST(Ticket, IsCheckedFormFirstThenTagThenHolder) {
  const Bytes ticket = seal_ticket(claims(), key(1));
  EXPECT_ERROR(open_ticket(ticket, key(2), device(0x56)), ErrorCode::unauthenticated, "");
  EXPECT_ERROR(open_ticket(ticket, key(1), device(0x56)), ErrorCode::permission_denied, "");
}

TEST(Receipt, IsTheSameForTheSameAndAnotherForAnyOther) {
  const RoundKey round = claims().round;
  const Digest receipt = receipt_for(round, device(1), key(1));
  EXPECT_EQ(receipt, receipt_for(round, device(1), key(1)));
  EXPECT_NE(receipt, receipt_for({RoundId(1), round.attempt}, device(1), key(1)));
  EXPECT_NE(receipt, receipt_for({round.round, Attempt(1)}, device(1), key(1)));
  EXPECT_NE(receipt, receipt_for(round, device(2), key(1)));
  EXPECT_NE(receipt, receipt_for(round, device(1), key(2)));
}

}  // namespace
}  // namespace coterie
