#include "secure/identity/revocation_list.h"

#include <gtest/gtest.h>

#include "secure/identity/device_certificate.h"
#include "tests/support/certificates.h"

namespace coterie::test {
namespace {

using std::chrono::days;
using std::chrono::seconds;

std::unique_ptr<Signer> signer(uint8_t fill, KeyAlgorithm algorithm = KeyAlgorithm::ed25519) {
  return std::move(*make_signer(algorithm, Bytes(32, fill)));
}

RevocationList some_list() {
  const WallTime now = time_of_seconds(1'800'000'000);
  return {.issuer = {}, .number = 9, .issued_at = now, .next_update = now + days(7), .serials = {1, 5, UINT64_MAX}};
}

TEST(RevocationList, SaysWhatWasSigned) {
  const auto authority = signer(1);
  for (const std::vector<uint64_t>& serials : {std::vector<uint64_t>{}, {7}, {1, 5, UINT64_MAX}}) {
    RevocationList list = some_list();
    list.serials = serials;
    const auto bytes = make_revocation_list(list, *authority);
    ASSERT_OK(bytes);
    const auto read = read_revocation_list(*bytes, authority->public_key());
    ASSERT_OK(read);
    list.issuer = authority_id(authority->public_key());
    EXPECT_EQ(*read, list);
    for (const uint64_t serial : serials) EXPECT_TRUE(read->names(serial));
    EXPECT_FALSE(read->names(2));
    EXPECT_ERROR(read_revocation_list(*bytes, signer(2)->public_key()), ErrorCode::unauthenticated,
                 "not by this authority");
  }
}

TEST(RevocationList, NoOtherBytesAreGood) {
  const auto authority = signer(1);
  const auto good = make_revocation_list(some_list(), *authority);
  ASSERT_OK(good);
  for (size_t i = 0; i < good->size(); ++i) {
    Bytes changed = *good;
    changed[i] ^= 1;
    EXPECT_FALSE(read_revocation_list(changed, authority->public_key())) << "byte " << i;
    changed.resize(i);
    EXPECT_FALSE(read_revocation_list(changed, authority->public_key())) << "cut to " << i;
  }
  Bytes longer = *good;
  longer.push_back(0);
  EXPECT_FALSE(read_revocation_list(longer, authority->public_key()));
}

TEST(RevocationList, IsInRange) {
  const auto refused = [](auto change, const std::string& words) {
    RevocationList list = some_list();
    change(list);
    EXPECT_ERROR(make_revocation_list(list, *signer(1)), ErrorCode::invalid_argument, words);
  };
  using L = RevocationList;
  refused([](L& l) { l.number = 0; }, "1 or more");
  refused([](L& l) { l.serials = {2, 1}; }, "must ascend");
  refused([](L& l) { l.serials = {2, 2}; }, "each once");
  refused([](L& l) { l.serials.resize(kRevokedMax + 1); }, "at most 100000 fit");
  refused([](L& l) { l.issued_at += Millis(1); }, "whole seconds");
  refused([](L& l) { l.next_update = l.issued_at; }, "after it was issued");
  refused([](L& l) { l.next_update = l.issued_at + kRevocationListValidityMax + seconds(1); }, "within 31 days");
  EXPECT_ERROR(make_revocation_list(some_list(), *signer(1, KeyAlgorithm::p256)), ErrorCode::invalid_argument,
               "Ed25519");
}

TEST(RevocationList, TheLargestFits) {
  const auto authority = signer(1);
  RevocationList list = some_list();
  list.serials.resize(kRevokedMax);
  for (size_t i = 0; i < kRevokedMax; ++i) list.serials[i] = i + 1;
  const auto bytes = make_revocation_list(list, *authority);
  ASSERT_OK(bytes);
  EXPECT_LE(bytes->size(), kRevocationListBytesMax);
  EXPECT_OK(read_revocation_list(*bytes, authority->public_key()));
  EXPECT_ERROR(read_revocation_list(Bytes(kRevocationListBytesMax + 1), authority->public_key()), ErrorCode::too_large,
               "at most 1048576 are read");
}

}  // namespace
}  // namespace coterie::test
