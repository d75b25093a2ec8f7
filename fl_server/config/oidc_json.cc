#include "fl_server/config/oidc_json.h"

namespace coterie {
namespace {

CodeFlowSettings read_sign_in(JsonReader reader) {
  CodeFlowSettings settings;
  reader.read("name", settings.name);
  reader.read("authorization_url", settings.authorization_url);
  reader.read("token_url", settings.token_url);
  reader.read("end_session_url", settings.end_session_url);
  reader.read("client_id", settings.client_id);
  reader.read("client_secret_file", settings.client_secret_file);
  reader.read("redirect_url", settings.redirect_url);
  reader.read("scope", settings.scope);
  for (const Problem& problem : validate(settings)) {
    reader.problem(std::string_view(problem.pointer).substr(1), problem.detail);
  }
  reader.finish();
  return settings;
}

}  // namespace

OidcSettings read_oidc(JsonReader reader) {
  OidcSettings settings;
  reader.read("issuer", settings.issuer);
  reader.read("audience", settings.audience);
  reader.read("jwks_url", settings.jwks_url);
  reader.read("ca_file", settings.ca_file);
  reader.read("roles_claim", settings.roles_claim);
  reader.read("role_map", settings.role_map);
  reader.read("tenant_claim", settings.tenant_claim);
  reader.read("leeway_ms", settings.leeway);
  reader.read("lifetime_ms_max", settings.lifetime_max);
  if (reader.has("sign_in")) settings.sign_in = read_sign_in(reader.object("sign_in"));
  for (const Problem& problem : validate(settings)) {
    reader.problem(std::string_view(problem.pointer).substr(1), problem.detail);  // "/issuer"
  }
  reader.finish();
  return settings;
}

}  // namespace coterie
