// A job as the admin plane shows it, and changes that are made only to the job that the caller has seen.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "scheduler/job/records.h"

namespace coterie {

// With its tenant, its released model, and what it has spent, if it has noise.
Result<nlohmann::json> show_job(AdminContext& context, const JobRecord& job);

// What a job has spent, by which accountant, under which assumptions; none if it has no noise.
Result<std::optional<nlohmann::json>> show_privacy(AdminContext& context, const JobRecord& job);

// The revision that a change of this job must find, as its If-Match says: none without one, 0 (which no job has) if
// it names another state than the present one. The store compares again, and sets.
Result<std::optional<uint64_t>> expected_revision(AdminContext& context, const AdminCall& call, const JobId& id);

// The answer to a change that the store has refused: 412 if the job has another revision than was expected.
HttpResponse not_changed(AdminContext& context, const JobId& id, const Error& error, std::optional<uint64_t> expected);

}  // namespace coterie
