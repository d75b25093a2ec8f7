// Problem documents (RFC 9457) and JSON answers of the admin plane.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/problem.h"
#include "fl_server/net/http_types.h"

namespace coterie {

// Valid JSON whatever the texts are (names that devices and models give themselves): bytes that are not UTF-8 become
// U+FFFD.
HttpResponse json_response(const nlohmann::json& json, int status = 200);

// {"type","title","status","code","detail"} and, if there are any, "reason" (Error::reason) and "errors":
// [{"pointer","detail"}]. The status is that of the error's code unless another is given. 401 says how to authenticate;
// what may pass (429, 503) when to come again.
HttpResponse problem_response(const Error& error, const Problems& problems = {}, int status = 0);

// The answer to query parameters that are wrong.
inline HttpResponse query_problem(const Problems& problems) {
  return problem_response(Error(ErrorCode::invalid_argument, "the query is wrong"), problems);
}

}  // namespace coterie
