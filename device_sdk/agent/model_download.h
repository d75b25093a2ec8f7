// A model onto the device's disk, piece by piece, going on where an earlier attempt was cut off.
#pragma once

#include <string>

#include "device_sdk/agent/device_api.h"

namespace coterie {

// Afterwards `path` holds the model if the outcome is its digest; otherwise what came is kept as `path`.part for the
// next attempt, or removed if it was not the model. The Result's error is the disk's.
Result<Outcome<Digest>> download_model(DeviceApi& api, const DeviceId& device, const Digest& model, uint64_t bytes,
                                       const std::string& path);

}  // namespace coterie
