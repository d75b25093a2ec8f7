// A device of secure aggregation, real but for its transport.
#pragma once

#include <memory>
#include <optional>

#include "secure/crypto/signature.h"
#include "secure/secagg/client.h"

namespace coterie::test {

struct CohortDevice {
  DeviceId id;
  std::unique_ptr<Signer> signer;
  std::optional<secagg::Client> client;
};

inline Status accept_all(const DeviceIdentity&) { return {}; }

// `index` below 255: all that it has follows from that.
inline CohortDevice cohort_device(const secagg::SessionParameters& parameters, uint32_t index) {
  const auto mark = static_cast<uint8_t>(index + 1);
  CohortDevice device;
  device.id.bytes[0] = mark;
  device.signer = *make_signer(KeyAlgorithm::ed25519, Bytes(32, mark));
  Secret<32> seed;
  seed.mutable_bytes()[0] = mark;
  device.client = *secagg::Client::make(parameters, std::move(seed), {.signer = device.signer.get(), .certificate = {}},
                                        accept_all);
  return device;
}

}  // namespace coterie::test
