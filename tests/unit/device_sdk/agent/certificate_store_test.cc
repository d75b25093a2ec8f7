#include "device_sdk/agent/certificate_store.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "secure/identity/certificate_authority.h"
#include "secure/identity/certificate_request.h"
#include "tests/support/certificates.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

using std::chrono::days;
using std::chrono::hours;

class Certificates : public testing::Test {
 protected:
  Certificates() {
    statement_.not_after = statement_.not_before + days(30);
    now_ = statement_.not_before + hours(1);
  }
  Result<CertificateStore> open(Bytes given) {
    return CertificateStore::open(directory_ / "", authority_->public_key(), std::move(given), *device_);
  }
  CertificateStore opened(Bytes given) {
    auto store = open(std::move(given));
    EXPECT_OK(store);
    return *std::move(store);
  }
  Bytes certificate(const CertificateStatement& statement) const {
    return certificate_for(*device_, *authority_, statement);
  }
  DeviceIdentity other(uint64_t serial) const {
    const auto key = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
    CertificateStatement statement = statement_;
    statement.serial = serial;
    return {key->algorithm(), key->public_key(), certificate_for(*key, *authority_, statement)};
  }
  Bytes list(uint64_t number, std::vector<uint64_t> serials, WallTime issued_at) const {
    const auto made = make_revocation_list({.issuer = {},
                                            .number = number,
                                            .issued_at = issued_at,
                                            .next_update = issued_at + days(1),
                                            .serials = std::move(serials)},
                                           *authority_);
    EXPECT_OK(made);
    return made.value_or(Bytes());
  }
  DeviceClocks clocks() const { return {now_, now_}; }

  TemporaryDirectory directory_;
  const std::unique_ptr<Signer> authority_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 1));
  const std::unique_ptr<Signer> device_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 2));
  const Population phones_ = Population("phones");
  CertificateStatement statement_ = certificate_statement("phones", 5);
  WallTime now_;
};

TEST_F(Certificates, AreDueWithAThirdLeftOrWhenThereIsNoneThatIsGood) {
  const CertificateStore store = opened(certificate(statement_));
  EXPECT_FALSE(store.is_due(phones_, clocks()));
  now_ = renewal_due(statement_) - hours(1);
  EXPECT_FALSE(store.is_due(phones_, clocks()));
  now_ = renewal_due(statement_);
  EXPECT_TRUE(store.is_due(phones_, clocks()));
  EXPECT_EQ(store.obstacle(phones_, clocks()), "") << "it is good to the end";
  now_ = statement_.not_after + days(1);
  EXPECT_TRUE(store.is_due(phones_, clocks()));
  EXPECT_TRUE(opened({}).is_due(phones_, clocks()));
  EXPECT_FALSE(opened(certificate(statement_)).is_due(phones_, {statement_.not_before, statement_.not_before}));
  const auto without = CertificateStore::open(directory_ / "", {}, {}, *device_);
  ASSERT_OK(without);
  EXPECT_FALSE(without->is_due(phones_, clocks())) << "there is nobody to ask";
}

TEST_F(Certificates, WhatIsRenewedIsKeptAndUsedInThePlaceOfTheApps) {
  const Bytes first = certificate(statement_);
  CertificateStore store = opened(first);
  const auto request = store.request(phones_, {});
  ASSERT_OK(request);
  const auto read = read_certificate_request(*request);
  ASSERT_OK(read);
  EXPECT_EQ(read->identity.certificate, first);
  EXPECT_EQ(read->identity.public_key, device_->public_key());
  EXPECT_EQ(read->population, phones_);
  const auto next = answer_request(*read, {.now = now_, .serial = 6}, *authority_);
  ASSERT_OK(next);
  ASSERT_OK(store.take(*next, phones_));
  EXPECT_EQ(store.certificate(), *next);
  EXPECT_EQ(opened(first).certificate(), *next) << "also when it is opened again with the old one";
  EXPECT_EQ(opened({}).certificate(), *next);
  CertificateStatement later = statement_;
  later.not_before = now_ + hours(1);
  EXPECT_EQ(opened(certificate(later)).certificate(), certificate(later)) << "an app may bring a later one";
}

TEST_F(Certificates, TakeNoneThatIsNotTheDevicesOrIsOlder) {
  const Bytes own = certificate(statement_);
  CertificateStore store = opened(own);
  EXPECT_ERROR(store.take(other(9).certificate, phones_), ErrorCode::invalid_argument, "for this device's key");
  EXPECT_ERROR(store.take(own, Population("tablets")), ErrorCode::invalid_argument, "this device is in tablets");
  EXPECT_ERROR(store.take(endless_certificate_for(*device_, *authority_), phones_), ErrorCode::invalid_argument,
               "has no end");
  CertificateStatement older = statement_;
  older.not_before -= days(1);
  EXPECT_ERROR(store.take(certificate(older), phones_), ErrorCode::conflict, "it began before");
  EXPECT_EQ(store.certificate(), own);
  EXPECT_FALSE(os::exists(directory_ / "certificate"));
}

TEST_F(Certificates, JudgeOthersByTheNewestListAndTakeNoOlderOne) {
  statement_.has_lists = true;
  CertificateStore store = opened(certificate(statement_));
  EXPECT_TRUE(store.needs_list());
  EXPECT_EQ(store.obstacle(phones_, clocks()), "") << "the list comes with the session";
  EXPECT_ERROR(store.list_is_current(clocks()), ErrorCode::refused, "no list");
  EXPECT_ERROR(store.judge(other(9), phones_, clocks()), ErrorCode::unauthenticated, "is not here");
  ASSERT_OK(store.take_list(list(3, {8}, now_)));
  EXPECT_OK(store.list_is_current(clocks()));
  EXPECT_OK(store.judge(other(9), phones_, clocks()));
  ASSERT_OK(store.take_list(list(4, {8, 9}, now_)));
  EXPECT_ERROR(store.judge(other(9), phones_, clocks()), ErrorCode::unauthenticated, "has revoked it");
  for (const uint64_t number : {1u, 3u, 4u}) {
    EXPECT_ERROR(store.take_list(list(number, {}, now_)), ErrorCode::refused, "is not after number 4");
  }
  const CertificateStore again = opened(certificate(statement_));
  EXPECT_EQ(again.list_number(), 4u) << "after a restart, too";
  EXPECT_ERROR(again.judge(other(9), phones_, clocks()), ErrorCode::unauthenticated, "has revoked it");
  now_ += days(2);
  EXPECT_ERROR(again.list_is_current(clocks()), ErrorCode::refused, "out of date: number 4");
  EXPECT_ERROR(again.judge(other(10), phones_, clocks()), ErrorCode::unauthenticated, "out of date");
}

TEST_F(Certificates, OnesOwnThatIsRevokedIsNoneThatIsGood) {
  CertificateStore store = opened(certificate(statement_));
  ASSERT_OK(store.take_list(list(1, {statement_.serial}, now_)));
  EXPECT_NE(store.obstacle(phones_, clocks()).find("has revoked it"), std::string::npos);
  EXPECT_TRUE(store.is_due(phones_, clocks()));
}

TEST_F(Certificates, AServerCannotTurnBackTimeBeforeWhatTheAuthoritySigned) {
  CertificateStore store = opened(certificate(statement_));
  CertificateStatement short_one = statement_;
  short_one.not_after = short_one.not_before + days(3);
  const auto key = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 8));
  const DeviceIdentity ended{key->algorithm(), key->public_key(), certificate_for(*key, *authority_, short_one)};
  // The device's clock is years behind, and the server says what suits it.
  const DeviceClocks lied{WallTime(hours(1)), statement_.not_before + days(1)};
  EXPECT_OK(store.judge(ended, phones_, lied));
  ASSERT_OK(store.take_list(list(1, {}, statement_.not_before + days(10))));
  EXPECT_ERROR(store.judge(ended, phones_, lied), ErrorCode::unauthenticated, "it ended");
  // With its own clock right, nothing that the server says matters.
  EXPECT_ERROR(store.judge(ended, phones_, {statement_.not_before + days(5), lied.server}), ErrorCode::unauthenticated,
               "it ended");
}

TEST_F(Certificates, FilesOfAnotherAuthorityAreAsIfTheyWereNotThere) {
  CertificateStore store = opened(certificate(statement_));
  CertificateStatement next = statement_;
  next.not_before += hours(1);
  ASSERT_OK(store.take(certificate(next), phones_));
  ASSERT_OK(store.take_list(list(7, {1}, now_)));
  const auto other_authority = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 3));
  const auto moved = CertificateStore::open(directory_ / "", other_authority->public_key(), {}, *device_);
  ASSERT_OK(moved);
  EXPECT_TRUE(moved->certificate().empty());
  EXPECT_EQ(moved->list_number(), 0u);
  ASSERT_TRUE(is_ok(os::write_file_atomically(directory_ / "certificate", Bytes(200, 1))));
  ASSERT_TRUE(is_ok(os::write_file_atomically(directory_ / "revocations", Bytes(200, 1))));
  EXPECT_TRUE(opened({}).certificate().empty());
}

}  // namespace
}  // namespace coterie::test
