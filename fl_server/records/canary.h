// A canary as it is stored: which version a share of a population's devices has, which the others have, who is in the
// share, and what was heard. scheduler/rollout/canary_machine.h decides when it ends.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "scheduler/rollout/canary_machine.h"

namespace coterie {

// One version of one job's model.
struct NamedVersion {
  JobId job;
  ModelVersion version;
  friend bool operator==(const NamedVersion&, const NamedVersion&) = default;
};

struct CanaryRecord {
  std::string id;  // "c7k2q..."
  Population population;
  NamedVersion canary;
  NamedVersion base;  // what the population's other devices have, and all of them behind a rollback
  Digest salt;        // drawn for this canary and shown to nobody: who knew it could make a device that is chosen
  CanarySettings settings;
  CanaryState state = CanaryState::running;
  std::string reason;  // of an end that was not observed
  HeardHarms heard;
  JobId evaluation_job;       // whose rounds it hears (scheduler/rollout/evaluation_feed.h); empty: none
  WallTime created, ended{};  // ended: while it runs, when it was created
  friend bool operator==(const CanaryRecord&, const CanaryRecord&) = default;
};

// Whether a device is in the share: HMAC-SHA256 of its id under the salt, as a number of [0, 1), is below the percent.
bool is_in_share(const Digest& salt, uint32_t percent, const DeviceId& device);

// What was heard, as bytes: 8 a number, little-endian.
Bytes encode_heard(const HeardHarms& heard);
Result<HeardHarms> decode_heard(ByteView bytes);  // data_loss

}  // namespace coterie
