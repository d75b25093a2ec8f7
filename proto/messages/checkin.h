// What a device and a server say before training: enrollment, check-in, assignment, errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "proto/messages/pinned_keys.h"
#include "proto/messages/refusal.h"

namespace coterie {

enum class KeyAlgorithm : uint8_t { ed25519 = 1, p256 = 2 };

struct EnrollRequest {
  std::string token;  // one-time, from the operator
  KeyAlgorithm key_algorithm = KeyAlgorithm::ed25519;
  Bytes public_key;  // ed25519: 32 bytes; p256: 65 bytes, uncompressed point
  Bytes proof;       // signature over enrollment_proof_text(token) by that key: whoever enrolls a key holds it
  std::string sdk_version;
  friend bool operator==(const EnrollRequest&, const EnrollRequest&) = default;
};

struct EnrollReply {
  DeviceId device;
  Population population;
  Bytes signing_key;  // the server's Ed25519 key for assignments; the device pins it
  // Those before it, which other servers of the fleet may still sign with; the oldest first, at most kRetiringKeysMax.
  std::vector<RetiringKey> retiring_keys = {};
  friend bool operator==(const EnrollReply&, const EnrollReply&) = default;
};

struct CheckinRequest {
  Population population;
  std::string sdk_version;
  uint32_t wait_ms_max = 0;             // how long the device is willing to hold this request open
  std::optional<Refusal> refusal = {};  // since the last check-in that was answered
  Bytes held = {};  // the ticket of an update that no round counts yet, where a later one may (ADR 114); empty: none
  uint64_t features = 0;  // PlanFeatures (plan_features.h) that the device knows
  friend bool operator==(const CheckinRequest&, const CheckinRequest&) = default;
};

// "Not now": come back at a moment drawn uniformly from [min, max] after the reply arrived.
struct RetryWindow {
  uint32_t min_ms = 0;
  uint32_t max_ms = 0;
  std::string reason;
  friend bool operator==(const RetryWindow&, const RetryWindow&) = default;
};

// "You are in": one attempt at one round. Everything but the ticket is signed by the server (manifest_text in
// secure/identity/manifest.h), so that nothing between server and device can swap plan, model or version.
struct Assignment {
  JobId job;
  RoundKey round;
  ModelVersion model_version;
  Digest plan;
  Digest model;
  uint32_t plan_bytes = 0;
  uint64_t model_bytes = 0;
  WallTime not_after;  // server time; the ticket dies then
  Bytes ticket;        // opaque to the device
  Bytes signature;     // Ed25519
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct ErrorReply {
  std::string code;  // ErrorTraits::name
  std::string detail;
  uint32_t retry_min_ms = 0;
  uint32_t retry_max_ms = 0;
  friend bool operator==(const ErrorReply&, const ErrorReply&) = default;
};

}  // namespace coterie
