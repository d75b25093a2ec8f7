#include "fl_server/json/job_schema.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/assert.h"
#include "fl_server/json/openapi_bytes.h"

namespace coterie {
namespace {

constexpr std::string_view kSchemas = "#/components/schemas/";

// Turns references into the OpenAPI document into references into `$defs`; their names go into `referred`.
void move_references(nlohmann::json& json, std::set<std::string>& referred) {
  if (const auto found = json.is_object() ? json.find("$ref") : json.end(); found != json.end()) {
    const std::string target = found->get<std::string>();
    COT_ASSERT(target.starts_with(kSchemas));
    const std::string name = target.substr(kSchemas.size());
    *found = "#/$defs/" + name;
    referred.insert(name);
  }
  if (json.is_structured()) {
    for (nlohmann::json& member : json) move_references(member, referred);
  }
}

}  // namespace

nlohmann::json job_schema() {
  const nlohmann::json document = nlohmann::json::parse(kOpenApiBytes);
  const nlohmann::json& schemas = document.at("components").at("schemas");
  nlohmann::json schema = schemas.at("JobSettings");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Coterie job";
  std::set<std::string> referred;
  move_references(schema, referred);
  // A definition may refer to more of them.
  while (!referred.empty()) {
    const std::string name = referred.extract(referred.begin()).value();
    nlohmann::json& place = schema["$defs"][name];
    if (!place.is_null()) continue;
    nlohmann::json definition = schemas.at(name);
    move_references(definition, referred);
    place = std::move(definition);
  }
  return schema;
}

}  // namespace coterie
