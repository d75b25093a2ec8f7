// Which blobs rows name: files of models, states of optimizers, plans of jobs, what jobs were made of, and segments of
// the audit log.
#pragma once

#include <set>

#include "base/result.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/retention_store.h"

namespace coterie {

// Not in one transaction: what is named meanwhile was put after the call began, or its attempt was opened before.
Result<std::set<Digest>> list_named_blobs(JobStore& jobs, RetentionStore& rows, AdminStore& admin);

}  // namespace coterie
