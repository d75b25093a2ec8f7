#include "secure/identity/certificate_authority.h"

#include <gtest/gtest.h>

#include "secure/identity/authority_nonce.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/revocation_list.h"
#include "tests/support/certificates.h"

namespace coterie::test {
namespace {

using std::chrono::days;

class SaysYes final : public AttestationJudge {
 public:
  AttestationFormat format() const override { return AttestationFormat::opaque; }
  Status judge(const CertificateRequest& request, WallTime) const override {
    if (request.attestation.blob == Bytes{1}) return {};
    return Error(ErrorCode::permission_denied, "the judge says no");
  }
};

class CertificateAuthority : public testing::Test {
 protected:
  CertificateRequest request(Bytes certificate, Attestation attestation = {}) const {
    const auto bytes = make_certificate_request(
        {{device_->algorithm(), device_->public_key(), std::move(certificate)}, Population("phones"), attestation},
        *device_);
    EXPECT_OK(bytes);
    const auto read = read_certificate_request(*bytes);
    EXPECT_OK(read);
    return read.value_or(CertificateRequest{});
  }
  AuthorityTerms terms() const {
    return {.now = now_, .judges = judges_, .serial = 8, .validity = days(30), .has_lists = true, .list = &list_};
  }
  Attestation attestation(uint8_t byte) const {
    const auto nonce = make_authority_nonce(now_, 77, *authority_);
    EXPECT_OK(nonce);
    return {.format = AttestationFormat::opaque, .nonce = nonce.value_or(Bytes()), .blob = {byte}};
  }
  Result<CertificateStatement> answered(const CertificateRequest& request, const AuthorityTerms& terms) const {
    COT_ASSIGN(Bytes certificate, answer_request(request, terms, *authority_));
    return read_device_certificate({device_->algorithm(), device_->public_key(), std::move(certificate)},
                                   authority_->public_key());
  }

  const std::unique_ptr<Signer> authority_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 1));
  const std::unique_ptr<Signer> device_ = *make_signer(KeyAlgorithm::p256, Bytes(32, 2));
  CertificateStatement statement_ = certificate_statement("phones", 7);
  const WallTime now_ = statement_.not_before + std::chrono::minutes(40);
  RevocationList list_{.issuer = {}, .number = 1, .issued_at = now_, .next_update = now_ + days(1), .serials = {}};
  SaysYes judge_;
  const AttestationJudge* judges_[1] = {&judge_};
};

TEST_F(CertificateAuthority, RenewsWhatIsGoodForTheSameKeyAndPopulation) {
  const auto next = answered(request(certificate_for(*device_, *authority_, statement_)), terms());
  ASSERT_OK(next);
  EXPECT_EQ(next->serial, 8u);
  EXPECT_EQ(next->population, Population("phones"));
  EXPECT_EQ(next->not_before, now_);
  EXPECT_EQ(next->not_after, now_ + days(30));
  EXPECT_TRUE(next->has_lists);
}

TEST_F(CertificateAuthority, RenewsNothingElse) {
  const auto refused = [&](const CertificateRequest& request, const std::string& words) {
    EXPECT_ERROR(answered(request, terms()), ErrorCode::permission_denied, words);
  };
  refused(request({}), "neither a certificate to renew nor an attestation");
  const auto other = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 3));
  refused(request(certificate_for(*device_, *other, statement_)), "not by this authority");
  refused(request(certificate_for(*other, *authority_, statement_)), "not by this authority for this device's key");
  refused(request(endless_certificate_for(*device_, *authority_)), "has no end");
  CertificateStatement changed = statement_;
  changed.population = Population("tablets");
  refused(request(certificate_for(*device_, *authority_, changed)), "it is for population tablets");
  changed = statement_;
  changed.not_before -= days(2);
  changed.not_after -= days(2);
  refused(request(certificate_for(*device_, *authority_, changed)), "it ended");
  list_.serials = {7};
  refused(request(certificate_for(*device_, *authority_, statement_)), "has revoked it (serial 7)");
}

TEST_F(CertificateAuthority, AnAttestationThatAJudgeTakesIsEnough) {
  EXPECT_OK(answered(request({}, attestation(1)), terms()));
  EXPECT_ERROR(answered(request({}, attestation(2)), terms()), ErrorCode::permission_denied, "the judge says no");
  // It decides, also where there is a certificate: one that ended, or a good one.
  CertificateStatement ended = statement_;
  ended.not_before -= days(2);
  ended.not_after -= days(2);
  EXPECT_OK(answered(request(certificate_for(*device_, *authority_, ended), attestation(1)), terms()));
  EXPECT_ERROR(answered(request(certificate_for(*device_, *authority_, statement_), attestation(2)), terms()),
               ErrorCode::permission_denied, "the judge says no");
  list_.serials = {7};
  EXPECT_ERROR(answered(request(certificate_for(*device_, *authority_, ended), attestation(1)), terms()),
               ErrorCode::permission_denied, "was revoked");
  AuthorityTerms without = terms();
  without.judges = {};
  EXPECT_ERROR(answered(request({}, attestation(1)), without), ErrorCode::permission_denied,
               "judges no attestation of format opaque");
}

TEST_F(CertificateAuthority, AnAttestationIsToAFreshNonceOfTheAuthority) {
  AuthorityTerms late = terms();
  late.now += kAuthorityNonceAgeMax + std::chrono::seconds(1);
  EXPECT_ERROR(answered(request({}, attestation(1)), late), ErrorCode::permission_denied, "10 minutes ago");
  AuthorityTerms early = terms();
  early.now -= kAuthorityNonceAgeMax + std::chrono::seconds(1);
  EXPECT_ERROR(answered(request({}, attestation(1)), early), ErrorCode::permission_denied, "in the future");
  for (size_t i = 0; i < kAttestationNonceBytes; ++i) {
    Attestation changed = attestation(1);
    changed.nonce[i] ^= 1;
    EXPECT_ERROR(answered(request({}, changed), terms()), ErrorCode::permission_denied, "not this authority's");
  }
}

TEST_F(CertificateAuthority, ARequestIsSignedByTheKeyThatItIsAbout) {
  const auto bytes = make_certificate_request(
      {{device_->algorithm(), device_->public_key(), Bytes(64, 4)}, Population("phones"), attestation(1)}, *device_);
  ASSERT_OK(bytes);
  for (size_t i = 0; i < bytes->size(); ++i) {
    Bytes changed = *bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(read_certificate_request(changed)) << "byte " << i;
    changed.resize(i);
    EXPECT_FALSE(read_certificate_request(changed)) << "cut to " << i;
  }
  EXPECT_ERROR(read_certificate_request(Bytes(kCertificateRequestBytesMax + 1)), ErrorCode::too_large, "are read");
}

TEST_F(CertificateAuthority, AnAttestationHasAFormatANonceAndASize) {
  const auto refused = [&](const Attestation& attestation, const std::string& words) {
    EXPECT_ERROR(make_certificate_request({{}, Population("phones"), attestation}, *device_),
                 ErrorCode::invalid_argument, words);
  };
  refused({AttestationFormat::none, {}, {1}}, "no format says what it is");
  refused({AttestationFormat::opaque, Bytes(31), {1}}, "its nonce has 31 bytes");
  refused({AttestationFormat::opaque, Bytes(32), {}}, "it must have 1 to 32768");
  refused({AttestationFormat::opaque, Bytes(32), Bytes(kAttestationBytesMax + 1)}, "it has 32769 bytes");
  refused({static_cast<AttestationFormat>(5), Bytes(32), {1}}, "no format has this number");
}

TEST(RenewalDue, IsAtAThirdOfTheValidityAndUpToATwelfthEarlier) {
  CertificateStatement statement = certificate_statement("phones", 1);
  statement.not_after = statement.not_before + days(36);
  const WallTime third = statement.not_before + days(24);
  WallTime least = WallTime::max(), most = WallTime::min();
  for (uint64_t i = 1; i <= 1'000; ++i) {
    statement.serial = i * 0x9e3779b97f4a7c15;  // spread as random ones are
    least = std::min(least, renewal_due(statement));
    most = std::max(most, renewal_due(statement));
  }
  EXPECT_LE(most, third);
  EXPECT_GT(most, third - days(1));
  EXPECT_GE(least, third - days(3));
  EXPECT_LT(least, third - days(2));
  statement.not_after = statement.not_before + std::chrono::seconds(1);
  EXPECT_LE(renewal_due(statement), statement.not_after);
}

}  // namespace
}  // namespace coterie::test
