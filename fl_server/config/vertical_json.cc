#include "fl_server/config/vertical_json.h"

#include "fl_server/records/tenant.h"

namespace coterie {

VerticalSettings read_vertical(JsonReader reader) {
  VerticalSettings settings{.address = {}, .name = {}, .tenant = std::string(kDefaultTenant)};
  for (const auto& [key, value] : {std::pair("address", &settings.address),
                                   {"name", &settings.name},
                                   {"ca_file", &settings.ca_file},
                                   {"certificate_file", &settings.certificate_file},
                                   {"key_file", &settings.key_file}}) {
    reader.require(key);
    reader.read(key, *value);
    if (reader.has(key) && value->empty()) reader.problem(key, "must not be empty");
  }
  reader.require("port");
  reader.read("port", settings.port);
  if (reader.has("port") && settings.port == 0) reader.problem("port", "must be at least 1");
  reader.read("tenant", settings.tenant);
  if (!is_tenant_name(settings.tenant)) {
    reader.problem("tenant", "must have 1 to " + std::to_string(kTenantCharsMax) + " of a-z, 0-9, '-', '_' and '.'");
  }
  reader.read("answer_ms_max", settings.answer_max);
  if (settings.answer_max < Millis(100) || settings.answer_max > Millis(60'000)) {
    reader.problem("answer_ms_max", "must be in [100, 60000]");
  }
  reader.read("look_ms", settings.look_every);
  if (settings.look_every < Millis(100) || settings.look_every > Millis(3'600'000)) {
    reader.problem("look_ms", "must be in [100, 3600000]");
  }
  reader.finish();
  return settings;
}

}  // namespace coterie
