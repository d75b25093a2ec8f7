#include "fl_server/http/problem.h"

#include <nlohmann/json.hpp>

namespace coterie {

HttpResponse json_response(const nlohmann::json& json, int status) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  const std::string text = json.dump() + "\n";
  response.body.assign(text.begin(), text.end());
  return response;
}

HttpResponse problem_response(const Error& error, const Problems& problems) {
  const ErrorTraits& row = traits(error.code());
  nlohmann::json json = {{"type", "urn:coterie:error:" + std::string(row.name)},
                         {"title", row.title},
                         {"status", row.http_status},
                         {"code", row.name},
                         {"detail", error.message()}};
  for (const Problem& problem : problems) {
    json["errors"].push_back({{"pointer", problem.pointer}, {"detail", problem.detail}});
  }
  HttpResponse response = json_response(json, row.http_status);
  response.content_type = "application/problem+json";
  if (error.code() == ErrorCode::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace coterie
