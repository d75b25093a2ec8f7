// Problem documents (RFC 9457) and JSON answers of the admin plane.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/http/http_types.h"
#include "scheduler/job/job_spec.h"

namespace coterie {

HttpResponse json_response(const nlohmann::json& json, int status = 200);

// {"type","title","status","code","detail"} and, if there are any, "errors": [{"pointer","detail"}].
HttpResponse problem_response(const Error& error, const Problems& problems = {});

}  // namespace coterie
