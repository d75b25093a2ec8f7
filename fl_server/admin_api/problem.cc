#include "fl_server/admin_api/problem.h"

#include <nlohmann/json.hpp>

#include "fl_server/net/retry_after.h"

namespace coterie {

HttpResponse json_response(const nlohmann::json& json, int status) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  response.body.assign(text.begin(), text.end());
  return response;
}

HttpResponse problem_response(const Error& error, const Problems& problems, int status) {
  const ErrorTraits& row = traits(error.code());
  if (status == 0) status = row.http_status;
  nlohmann::json json = {{"type", "urn:coterie:error:" + std::string(row.name)},
                         {"title", row.title},
                         {"status", status},
                         {"code", row.name},
                         {"detail", error.message()}};
  if (!error.reason().empty()) json["reason"] = error.reason();
  for (const Problem& problem : problems) {
    json["errors"].push_back({{"pointer", problem.pointer}, {"detail", problem.detail}});
  }
  HttpResponse response = json_response(json, status);
  response.content_type = kProblemType;
  if (error.code() == ErrorCode::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (may_pass(error.code())) say_when(response, {});
  return response;
}

}  // namespace coterie
