// A round's model out of an older one that the device has kept, and the deltas that lead from there (DownloadRules).
#pragma once

#include <string>

#include "device_sdk/agent/device_api.h"
#include "device_sdk/agent/kept_models.h"
#include "proto/messages/download_rules.h"

namespace coterie {

struct DeltaDownload {
  DeviceApi& api;
  const KeptModels& kept;
  std::string directory;  // delta-<digest>.cotf is written there; the caller removes it when the round is over
};

// Fetches the model of `action` to `path`, which is where KeptModels has it if there are deltas: by them if it can be,
// else as download_model does, and with the same outcomes. Then no other model of the job is kept.
//
// It is fetched whole where no kept model is on the chain, where the chain would cost as much, and where something does
// not fit: a file that is damaged, a delta that is gone or is not what was named, a result with another digest. So it
// is where a delta does not come for any other reason than that the server is away, too slow or too busy, and also
// then if a second attempt of the round has brought no more of it than the first.
Result<Outcome<Digest>> fetch_model(const DeltaDownload& means, const DeviceId& device, const DoFetchModel& action,
                                    const std::string& path);

}  // namespace coterie
