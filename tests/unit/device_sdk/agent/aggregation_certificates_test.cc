// Agents whose app pins an authority, in rounds with secure aggregation: who may be in a session.
#include <gtest/gtest.h>

#include "secure/identity/key_file.h"
#include "tests/support/certificates.h"
#include "tests/unit/device_sdk/agent/aggregation_cohort.h"

namespace coterie::test {
namespace {

// Gives each device its key, and the authority's certificate of it: devices of this server are in population default.
void certify_all(Cohort& cohort, const Signer& authority) {
  for (const uint32_t who : cohort.all()) {
    ASSERT_OK(cohort.open(who));  // makes its key
    const auto key = load_or_create_signer(cohort.in_state(who, "identity.key"), cohort.settings(who).key_algorithm);
    ASSERT_OK(key);
    cohort.settings(who).authority_key = authority.public_key();
    cohort.settings(who).certificate = certificate_for(**key, authority, certificate_statement("default", who + 1));
  }
}

std::unique_ptr<Signer> authority_of(uint8_t fill) {
  return std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, fill)));
}

TEST(AggregationCertificates, WithAnAuthorityTakesPartWithItsDevicesAlone) {
  for (const bool all_are_certified : {true, false}) {
    SCOPED_TRACE(all_are_certified);
    Cohort cohort(SecurityLevel::active);
    certify_all(cohort, *authority_of(9));
    if (!all_are_certified) cohort.settings(2).authority_key = cohort.settings(2).certificate = {};  // knows of none
    const Status ran = cohort.run();
    if (all_are_certified) {
      ASSERT_OK(ran);
      cohort.expect_sum_of(cohort.all());
      continue;
    }
    EXPECT_FALSE(ran) << "nobody shares with a stranger, so nobody shares";
    for (const uint32_t who : cohort.all_but(2)) {
      ASSERT_FALSE(cohort.errors(who).empty());
      EXPECT_EQ(cohort.errors(who)[0].reason(), "bad_certificate");
      EXPECT_TRUE(cohort.plane.sent(who, Exchange::shares).empty());
    }
  }
}

TEST(AggregationCertificates, WithAnAuthorityAndNoCertificateOfItRefuses) {
  Cohort cohort(SecurityLevel::active);
  certify_all(cohort, *authority_of(9));
  cohort.settings(2).certificate.clear();
  ASSERT_OK(cohort.run());
  cohort.expect_sum_of({0, 1, 3, 4});
  ASSERT_FALSE(cohort.errors(2).empty());
  EXPECT_EQ(cohort.errors(2)[0].reason(), "certificate");
  EXPECT_TRUE(cohort.plane.sent(2, Exchange::advert).empty());
}

// By its own clock, as soon as it opens: nobody else has to say so, and the app may have it renewed.
TEST(AggregationCertificates, WithACertificateThatIsNotGoodNowRefusesAndSaysWhy) {
  const auto authority = authority_of(9);
  const auto refused = [&](auto certificate_of, const std::string& words) {
    Cohort cohort(SecurityLevel::active);
    certify_all(cohort, *authority);
    const auto key = load_or_create_signer(cohort.in_state(2, "identity.key"), cohort.settings(2).key_algorithm);
    ASSERT_OK(key);
    cohort.settings(2).certificate = certificate_of(**key);
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of({0, 1, 3, 4});
    ASSERT_FALSE(cohort.errors(2).empty());
    EXPECT_EQ(cohort.errors(2)[0].reason(), "certificate");
    EXPECT_NE(cohort.errors(2)[0].message().find(words), std::string::npos) << cohort.errors(2)[0].message();
    EXPECT_TRUE(cohort.plane.sent(2, Exchange::advert).empty());
  };
  const auto with = [&](auto change) {
    return [&authority, change](const Signer& device) {
      CertificateStatement statement = certificate_statement("default");
      change(statement);
      return certificate_for(device, *authority, statement);
    };
  };
  refused(with([](CertificateStatement& s) {
            s.not_before -= std::chrono::days(2);
            s.not_after -= std::chrono::days(2);
          }),
          "it ended");
  refused(with([](CertificateStatement& s) { s.population = Population("tablets"); }), "is for population tablets");
  refused([&](const Signer& device) { return endless_certificate_for(device, *authority); }, "has no end");
}

// One who takes part although his has ended, and the server lets him: the others do not share with him.
TEST(AggregationCertificates, EndsOverADeviceWhoseCertificateHasEnded) {
  Cohort cohort(SecurityLevel::active);
  const auto authority = authority_of(9);
  certify_all(cohort, *authority);
  const auto key = load_or_create_signer(cohort.in_state(2, "identity.key"), cohort.settings(2).key_algorithm);
  ASSERT_OK(key);
  CertificateStatement ended = certificate_statement("default", 3);
  ended.not_before -= std::chrono::days(2);
  ended.not_after -= std::chrono::days(2);
  cohort.settings(2).authority_key.clear();
  cohort.settings(2).certificate.clear();
  cohort.plane.shows_certificate(2, certificate_for(**key, *authority, ended));
  EXPECT_FALSE(cohort.run());
  for (const uint32_t who : cohort.all_but(2)) {
    ASSERT_FALSE(cohort.errors(who).empty());
    EXPECT_EQ(cohort.errors(who)[0].reason(), "bad_certificate");
    EXPECT_NE(cohort.errors(who)[0].message().find("it ended"), std::string::npos) << cohort.errors(who)[0].message();
    EXPECT_TRUE(cohort.plane.sent(who, Exchange::shares).empty());
  }
}

TEST(AggregationCertificates, OpensWithACertificateOfItsOwnKeyAlone) {
  Cohort cohort(SecurityLevel::active);
  certify_all(cohort, *authority_of(9));
  EXPECT_OK(cohort.open(0));
  const auto refused = [&](const std::string& words) {
    EXPECT_ERROR(cohort.open(0), ErrorCode::invalid_argument, words);
  };
  const Bytes own = std::exchange(cohort.settings(0).certificate, cohort.settings(3).certificate);
  refused("is not by this authority for this device's key");
  cohort.settings(0).certificate = own;
  cohort.settings(0).authority_key = authority_of(10)->public_key();
  refused("is not by this authority for this device's key");
  cohort.settings(0).authority_key.resize(31);
  refused("authority_key: must be the 32 bytes");
  cohort.settings(0).authority_key.clear();
  refused("needs the authority_key");
}

}  // namespace
}  // namespace coterie::test
