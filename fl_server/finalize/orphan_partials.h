// Partial sums that no row names: of a process that died between writing the blob and committing its row.
#pragma once

#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/round_store.h"

namespace coterie {

// `jobs`: all of them. Removes those that were put at least `age_min` ago. Where other nodes write partial sums
// meanwhile, `age_min` must be longer than a batch takes from its blob to its row: a younger one may be named in a
// moment. Errors of the stores.
Status remove_orphan_partials(const std::vector<JobRecord>& jobs, RoundStore& rounds, AcceptStore& accepts,
                              BlobStore& partials, Millis age_min);

}  // namespace coterie
