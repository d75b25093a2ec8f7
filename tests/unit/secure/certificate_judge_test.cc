#include "secure/identity/certificate_judge.h"

#include <gtest/gtest.h>

#include "secure/identity/revocation_list.h"
#include "tests/support/certificates.h"

namespace coterie::test {
namespace {

using std::chrono::days;

class CertificateJudge : public testing::Test {
 protected:
  CertificateTerms terms() const {
    return {.authority_key = authority_->public_key(), .population = Population("phones"), .now = now_, .list = &list_};
  }
  DeviceIdentity other(const CertificateStatement& statement) const {
    return {device_->algorithm(), device_->public_key(), certificate_for(*device_, *authority_, statement)};
  }

  const std::unique_ptr<Signer> authority_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 1));
  const std::unique_ptr<Signer> device_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 2));
  CertificateStatement statement_ = certificate_statement("phones", 7);
  const WallTime now_ = statement_.not_before;
  RevocationList list_{.issuer = {}, .number = 3, .issued_at = now_, .next_update = now_ + days(1), .serials = {}};
};

TEST_F(CertificateJudge, TakesWhatIsGoodNow) {
  EXPECT_OK(judge_certificate(other(statement_), terms()));
  CertificateTerms late = terms();
  late.now = statement_.not_after + std::chrono::hours(1);
  EXPECT_ERROR(judge_certificate(other(statement_), late), ErrorCode::unauthenticated, "it ended 3600 s ago");
  CertificateTerms elsewhere = terms();
  elsewhere.population = Population("tablets");
  EXPECT_ERROR(judge_certificate(other(statement_), elsewhere), ErrorCode::unauthenticated, "not for tablets");
}

TEST_F(CertificateJudge, RefusesWhatIsOnTheListWhetherListsAreAskedForOrNot) {
  list_.serials = {7};
  for (const bool has_lists : {false, true}) {
    statement_.has_lists = has_lists;
    EXPECT_ERROR(judge_certificate(other(statement_), terms()), ErrorCode::unauthenticated,
                 "has revoked it (serial 7)");
  }
  list_.serials = {6, 8};
  EXPECT_OK(judge_certificate(other(statement_), terms()));
}

TEST_F(CertificateJudge, OfAnAuthorityWithListsNeedsOneThatIsNotOutOfDate) {
  statement_.has_lists = true;
  CertificateTerms without = terms();
  without.list = nullptr;
  EXPECT_ERROR(judge_certificate(other(statement_), without), ErrorCode::unauthenticated,
               "list of revoked certificates");
  without.asks_for_list = false;  // as a server, which lets devices judge
  EXPECT_OK(judge_certificate(other(statement_), without));
  list_.next_update = now_ - kCertificateClockAllowance;
  EXPECT_OK(judge_certificate(other(statement_), terms()));
  list_.next_update -= std::chrono::seconds(1);
  EXPECT_ERROR(judge_certificate(other(statement_), terms()), ErrorCode::unauthenticated, "out of date");
  statement_.has_lists = false;
  EXPECT_OK(judge_certificate(other(statement_), terms()));
}

TEST_F(CertificateJudge, AServerDoesNotTurnBackTheClockOfADeviceWhoseOwnIsRight) {
  const WallTime lie = statement_.not_before - days(100);
  EXPECT_EQ(certificate_time({.own = now_, .server = lie, .floor = {}}, statement_), now_);
  EXPECT_EQ(certificate_time({.own = now_, .server = now_ + days(100), .floor = {}}, statement_), now_);
}

TEST_F(CertificateJudge, AWrongClockIsReplacedByTheServersThatIsNeverBeforeWhatTheAuthoritySigned) {
  for (const WallTime wrong : {WallTime{}, now_ + days(3'650)}) {
    EXPECT_EQ(certificate_time({.own = wrong, .server = now_, .floor = {}}, statement_), now_);
    EXPECT_EQ(certificate_time({.own = wrong, .server = now_ - days(9), .floor = now_}, statement_), now_);
    EXPECT_EQ(certificate_time({.own = wrong, .server = now_, .floor = {}}, std::nullopt), now_);
  }
  // Behind, but not so far that its own certificate had not begun: what the authority signed since is later.
  statement_.not_after = statement_.not_before + days(30);
  EXPECT_EQ(certificate_time({.own = now_, .server = now_, .floor = now_ + days(2)}, statement_), now_ + days(2));
}

}  // namespace
}  // namespace coterie::test
