// A model, and what is handed out with it, onto the device's disk, piece by piece, going on where an earlier attempt
// was cut off.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/agent/device_api.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Afterwards `path` holds the model if the outcome is its digest; otherwise what came is kept as `path`.part for the
// next attempt, or removed if it was not the model. The Result's error is the disk's.
Result<Outcome<Digest>> download_model(DeviceApi& api, const DeviceId& device, const Digest& model, uint64_t bytes,
                                       const std::string& path);
// The model in such a file, which may have been damaged since it came. data_loss if it is not of this digest.
Result<Model> load_downloaded(const std::string& path, const Digest& model);

// As download_model, of the server's control: a file of one vector of `values` numbers (Plan::control).
Result<Outcome<Digest>> download_control(DeviceApi& api, const DeviceId& device, const Digest& control, uint64_t values,
                                         const std::string& path);
// What that file has. data_loss if it is not the named one, or its vector is not of so many finite numbers.
Result<std::vector<float>> read_control(const std::string& path, const Digest& control, uint64_t values);

}  // namespace coterie
