#include "fl_server/config/oidc_json.h"

namespace coterie {

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
  for (const Problem& problem : validate(settings)) {
    reader.problem(std::string_view(problem.pointer).substr(1), problem.detail);  // "/issuer"
  }
  reader.finish();
  return settings;
}

}  // namespace coterie
