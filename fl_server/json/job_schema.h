// A job's file as JSON Schema (draft 2020-12), for editors and other programs. It is the part of docs/openapi.json that
// describes POST /admin/v1/jobs, with what that part refers to under "$defs": so each key is described in one place.
//
// What a schema cannot say (which keys go together, whether a job goes with its model) `coterie job validate` says.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace coterie {

nlohmann::json job_schema();

}  // namespace coterie
