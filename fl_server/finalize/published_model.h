// What a round publishes of the model that it has come to, where a job's models come as deltas: the version before
// moved by a delta, as every device that holds that one will come to it, and the delta beside it.
//
// Devices train from what is published, so that its digest is the version's; the model as it was computed is kept, and
// the next round moves that one: what rounding left out of this delta is in the next.
#pragma once

#include "base/result.h"
#include "fl_server/store/blob_store.h"
#include "scheduler/job/download_settings.h"
#include "scheduler/job/records.h"

namespace coterie {

// `next` names, in digest, the model that was computed, of the same graph as `base`. Afterwards digest, exact and
// deltas of `next` are those of what is published, whose blobs are durable. A keyframe has a digest alone, and
// so has a model than which a delta that moves each block is not smaller, and one that rounding would lead beyond
// float32. In memory there is a piece of a model at a time. The same arguments give the same bytes. data_loss: what is
// stored is damaged.
Status publish(BlobStore& blobs, const DownloadSettings& download, const ModelRecord& base, ModelRecord& next);

}  // namespace coterie
