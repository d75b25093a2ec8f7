#include "secure/identity/device_certificate.h"

#include <gtest/gtest.h>

#include "tests/support/certificates.h"

namespace coterie::test {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr Millis kMilli{1};

std::unique_ptr<Signer> signer(uint8_t fill, KeyAlgorithm algorithm = KeyAlgorithm::ed25519) {
  return std::move(*make_signer(algorithm, Bytes(32, fill)));
}

DeviceIdentity identity_of(const Signer& device, const Signer& authority, const CertificateStatement& statement) {
  return {device.algorithm(), device.public_key(), certificate_for(device, authority, statement)};
}

TEST(DeviceCertificate, SaysWhatWasSignedForOneKeyOfEitherAlgorithm) {
  const auto authority = signer(1), other = signer(2);
  CertificateStatement statement = certificate_statement("phones", 77);
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::ed25519, KeyAlgorithm::p256}) {
    statement.has_lists = algorithm == KeyAlgorithm::p256;
    const auto device = signer(3, algorithm);
    const DeviceIdentity good = identity_of(*device, *authority, statement);
    const auto read = read_device_certificate(good, authority->public_key());
    ASSERT_OK(read);
    statement.issuer = authority_id(authority->public_key());
    EXPECT_EQ(*read, statement);
    const auto refused = [&](const DeviceIdentity& identity, ByteView authority_key) {
      return !read_device_certificate(identity, authority_key);
    };
    EXPECT_TRUE(refused(good, other->public_key()));
    EXPECT_TRUE(refused(good, {}));
    DeviceIdentity changed = good;
    changed.public_key = signer(4, algorithm)->public_key();
    EXPECT_TRUE(refused(changed, authority->public_key()));
    changed = good;
    changed.key_algorithm = algorithm == KeyAlgorithm::p256 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256;
    EXPECT_TRUE(refused(changed, authority->public_key()));
    changed = good;
    changed.certificate.clear();
    EXPECT_TRUE(refused(changed, authority->public_key()));
  }
}

TEST(DeviceCertificate, NoOtherBytesAreGood) {
  const auto authority = signer(1), device = signer(3);
  const DeviceIdentity good = identity_of(*device, *authority, certificate_statement("phones"));
  ASSERT_OK(read_device_certificate(good, authority->public_key()));
  for (size_t i = 0; i < good.certificate.size(); ++i) {
    DeviceIdentity changed = good;
    changed.certificate[i] ^= 1;
    EXPECT_FALSE(read_device_certificate(changed, authority->public_key())) << "byte " << i;
    changed.certificate.resize(i);
    EXPECT_FALSE(read_device_certificate(changed, authority->public_key())) << "cut to " << i;
  }
  DeviceIdentity longer = good;
  longer.certificate.push_back(0);
  EXPECT_ERROR(read_device_certificate(longer, authority->public_key()), ErrorCode::unauthenticated, "left behind");
}

TEST(DeviceCertificate, IsForAPopulationAndATime) {
  const CertificateStatement statement = certificate_statement("phones");
  const auto at = [&](WallTime now) { return check_certificate_terms(statement, Population("phones"), now); };
  EXPECT_OK(at(statement.not_before));
  EXPECT_OK(at(statement.not_after));
  EXPECT_OK(at(statement.not_before - kCertificateClockAllowance));
  EXPECT_OK(at(statement.not_after + kCertificateClockAllowance));
  EXPECT_ERROR(at(statement.not_before - kCertificateClockAllowance - kMilli), ErrorCode::unauthenticated,
               "it begins in");
  EXPECT_ERROR(at(statement.not_after + kCertificateClockAllowance + kMilli), ErrorCode::unauthenticated,
               "it ended 600 s ago");
  EXPECT_ERROR(check_certificate_terms(statement, Population("tablets"), statement.not_before),
               ErrorCode::unauthenticated, "it is for population phones, not for tablets");
}

TEST(DeviceCertificate, OfTheFormBefore03IsNamedAndNotTaken) {
  const auto authority = signer(1), device = signer(3);
  const DeviceIdentity old{device->algorithm(), device->public_key(), endless_certificate_for(*device, *authority)};
  EXPECT_ERROR(read_device_certificate(old, authority->public_key()), ErrorCode::unauthenticated,
               "of the form before 0.3, which has no end");
  EXPECT_TRUE(is_endless_certificate(old, authority->public_key()));
  EXPECT_FALSE(is_endless_certificate(old, signer(2)->public_key()));
  EXPECT_FALSE(is_endless_certificate({device->algorithm(), device->public_key(), Bytes(64)}, authority->public_key()));
}

TEST(DeviceCertificate, IsMadeByEd25519ForKeysAloneAndWithAnEnd) {
  const auto authority = signer(1), device = signer(3);
  const auto make = [&](const CertificateStatement& statement, const Signer& by, KeyAlgorithm algorithm) {
    return make_device_certificate(statement, algorithm, device->public_key(), by);
  };
  const CertificateStatement good = certificate_statement("phones");
  EXPECT_ERROR(make(good, *signer(1, KeyAlgorithm::p256), KeyAlgorithm::ed25519), ErrorCode::invalid_argument,
               "Ed25519");
  EXPECT_ERROR(make(good, *authority, KeyAlgorithm::p256), ErrorCode::invalid_argument, "not a public key");
  const auto refused = [&](auto change, const std::string& words) {
    CertificateStatement statement = good;
    change(statement);
    EXPECT_ERROR(make(statement, *authority, KeyAlgorithm::ed25519), ErrorCode::invalid_argument, words);
  };
  using S = CertificateStatement;
  refused([](S& s) { s.serial = 0; }, "a serial is not 0");
  refused([](S& s) { s.population = Population(""); }, "1 to 64 characters");
  refused([](S& s) { s.population = Population(std::string(65, 'a')); }, "1 to 64 characters");
  refused([](S& s) { s.not_after = s.not_before; }, "end after it begins");
  refused([](S& s) { s.not_after = s.not_before + kCertificateValidityMax + std::chrono::seconds(1); },
          "within 400 days");
  refused([](S& s) { s.not_before += kMilli; }, "whole seconds");
  refused([](S& s) { s.not_after = WallTime(days(10'000 * 365)); }, "whole seconds");
  CertificateStatement longest = good;
  longest.not_after = longest.not_before + kCertificateValidityMax;
  EXPECT_OK(make(longest, *authority, KeyAlgorithm::ed25519));
}

}  // namespace
}  // namespace coterie::test
