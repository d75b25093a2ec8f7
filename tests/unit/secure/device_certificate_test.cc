#include "secure/identity/device_certificate.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

std::unique_ptr<Signer> signer(uint8_t fill, KeyAlgorithm algorithm = KeyAlgorithm::ed25519) {
  return std::move(*make_signer(algorithm, Bytes(32, fill)));
}

TEST(DeviceCertificate, OfBothAlgorithmsIsTheAuthoritysAndForOneKey) {
  const auto authority = signer(1), other = signer(2);
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::ed25519, KeyAlgorithm::p256}) {
    const auto device = signer(3, algorithm);
    const Result<Bytes> certificate = make_device_certificate(algorithm, device->public_key(), *authority);
    ASSERT_OK(certificate);
    const DeviceIdentity good{algorithm, device->public_key(), *certificate};
    EXPECT_TRUE(device_certificate_is_valid(good, authority->public_key()));
    EXPECT_FALSE(device_certificate_is_valid(good, other->public_key()));
    EXPECT_FALSE(device_certificate_is_valid(good, {}));

    DeviceIdentity changed = good;
    changed.public_key = signer(4, algorithm)->public_key();
    EXPECT_FALSE(device_certificate_is_valid(changed, authority->public_key()));
    changed = good;
    changed.key_algorithm = algorithm == KeyAlgorithm::p256 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256;
    EXPECT_FALSE(device_certificate_is_valid(changed, authority->public_key()));
    changed = good;
    changed.certificate.back() ^= 1;
    EXPECT_FALSE(device_certificate_is_valid(changed, authority->public_key()));
    changed.certificate.clear();
    EXPECT_FALSE(device_certificate_is_valid(changed, authority->public_key()));
  }
}

TEST(DeviceCertificate, IsMadeByEd25519ForKeysAlone) {
  const Bytes key = signer(3)->public_key();
  EXPECT_ERROR(make_device_certificate(KeyAlgorithm::ed25519, key, *signer(1, KeyAlgorithm::p256)),
               ErrorCode::invalid_argument, "Ed25519");
  EXPECT_ERROR(make_device_certificate(KeyAlgorithm::p256, key, *signer(1)), ErrorCode::invalid_argument,
               "not a public key");
}

}  // namespace
}  // namespace coterie::test
