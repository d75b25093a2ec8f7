#include "tools/vertical/coordinator_config.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/vertical/address.h"

namespace coterie {
namespace {

constexpr uint64_t kCoordinatorConfigBytesMax = 1 << 16;

}  // namespace

Result<CoordinatorConfig> parse_coordinator_config(std::string_view text, const std::string& folder) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  CoordinatorConfig config;
  JsonReader reader(*json, "", problems);
  const auto path = [&folder](JsonReader& from, const char* key, std::string& value) {
    from.read(key, value);
    if (!value.empty() && value.front() != '/') value = folder + "/" + value;
  };
  const auto required_path = [&path](JsonReader& from, const char* key, std::string& value) {
    from.require(key);
    path(from, key, value);
  };
  std::string listen;
  reader.require("listen");
  reader.read("listen", listen);
  if (!listen.empty()) {
    if (const std::optional<HostPort> address = parse_address(listen)) {
      config.listen = {.host = address->host, .port = address->port};
    } else {
      reader.problem("listen", "must be HOST:PORT, is " + listen);
    }
  }
  path(reader, "port_file", config.port_file);
  required_path(reader, "jobs", config.jobs);
  JsonReader tls = reader.object("tls");
  required_path(tls, "ca", config.tls.ca_file);
  required_path(tls, "certificate", config.tls.certificate_file);
  required_path(tls, "key", config.tls.key_file);
  tls.finish();
  reader.read("operators", config.operators);
  for (const std::string& name : config.operators) {
    if (!vertical::is_party_name(name)) reader.problem("operators", vertical::party_name_rule());
  }
  JsonReader limits = reader.object("limits");
  vertical::CoordinatorLimits& values = config.limits;
  limits.read("asking_max", values.asking_max);
  limits.read("waiting_max", values.waiting_max);
  limits.read("pairs_max", values.pairs_max);
  limits.read("jobs_max", values.jobs_max);
  limits.read("party_jobs_max", values.party_jobs_max);
  limits.read("buffer_bytes", values.buffer_bytes);
  limits.read("matching_entries_max", values.matching_entries_max);
  limits.read("ask_ms", values.ask_time);
  limits.read("wait_ms", values.wait_time);
  limits.read("idle_ms", values.idle_time);
  limits.read("report_ms", values.report_time);
  limits.read("resume_ms", values.resume_time);
  limits.finish();
  reader.finish();
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  COT_TRY(vertical::check_limits(values));
  return config;
}

Result<CoordinatorConfig> read_coordinator_config(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kCoordinatorConfigBytesMax));
  Result<CoordinatorConfig> config = parse_coordinator_config(as_text(bytes), os::parent_directory(file));
  if (!config) return config.error().with_context(file);
  return config;
}

}  // namespace coterie
