// Certificates of tests: by an authority, for a device's key, with what a test does not care about filled in.
#pragma once

#include <memory>

#include "base/os/clock.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/signature.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/signed_seconds.h"
#include "tests/support/matchers.h"

namespace coterie::test {

// Valid from a minute ago on, for an hour.
inline CertificateStatement certificate_statement(const std::string& population, uint64_t serial = 1) {
  const WallTime now = time_of_seconds(signed_seconds(os::wall_now()));
  return {.issuer = {},
          .serial = serial,
          .population = Population(population),
          .not_before = now - std::chrono::minutes(1),
          .not_after = now + std::chrono::hours(1),
          .has_lists = false};
}

inline Bytes certificate_for(const Signer& device, const Signer& authority, const CertificateStatement& statement) {
  const Result<Bytes> made = make_device_certificate(statement, device.algorithm(), device.public_key(), authority);
  EXPECT_OK(made);
  return made.value_or(Bytes());
}

// As authorities made them before 0.3.
inline Bytes endless_certificate_for(const Signer& device, const Signer& authority) {
  DomainFields fields("coterie/v1/device-certificate");
  fields.add(static_cast<uint64_t>(device.algorithm())).add(device.public_key());
  const Result<Bytes> signature = authority.sign(fields.view());
  EXPECT_OK(signature);
  return signature.value_or(Bytes());
}

}  // namespace coterie::test
