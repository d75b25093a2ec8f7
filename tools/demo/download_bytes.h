// What one device fetches of a job's model in a round: the file, without the heads of the answer.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "scheduler/job/download_settings.h"

namespace coterie {

// At most, where the version is no keyframe and the device kept the one before: a delta in which each value moves. The
// model's size where versions are fetched whole. Precondition: `model` is a model file.
uint64_t download_bytes(const DownloadSettings& download, ByteView model);

}  // namespace coterie
