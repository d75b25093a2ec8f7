#include "tools/vertical/party_config.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/vertical/address.h"

namespace coterie {
namespace {

constexpr uint64_t kConfigBytesMax = 1 << 16;
constexpr Millis kPatienceMin{1'000};
constexpr Millis kPatienceMax{86'400'000};
constexpr Millis kResumeMax{604'800'000};

// "host:port"; an IPv6 address in brackets.
bool read_address(const std::string& text, PartyConfig& config) {
  const std::optional<HostPort> address = parse_address(text);
  if (!address) return false;
  config.host = address->host;
  config.port = address->port;
  return true;
}

void read_coordinator(JsonReader reader, const std::string& folder, PartyConfig& config) {
  vertical::CoordinatorDoor& door = config.coordinator.emplace();
  std::string text;
  reader.require("address");
  reader.read("address", text);
  const std::optional<HostPort> address = parse_address(text);
  if (address && address->port != 0) {
    door.host = address->host;
    door.port = address->port;
  } else if (!text.empty()) {
    reader.problem("address", "must be HOST:PORT, is " + text);
  }
  reader.require("name");
  reader.read("name", door.tls.peer_name);
  // OpenSSL takes an empty name for "any".
  if (door.tls.peer_name.empty()) reader.problem("name", "must not be empty");
  reader.read("ca", door.tls.ca_file);
  if (!door.tls.ca_file.empty() && door.tls.ca_file.front() != '/') door.tls.ca_file = folder + "/" + door.tls.ca_file;
  reader.finish();
}

}  // namespace

Result<PartyConfig> parse_party_config(std::string_view text, const std::string& folder) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  PartyConfig config;
  JsonReader reader(*json, "", problems);
  const auto path = [&folder](JsonReader& from, const char* key, std::string& value) {
    from.require(key);
    from.read(key, value);
    if (!value.empty() && value.front() != '/') value = folder + "/" + value;
  };
  size_t role = 0;
  reader.require("role");
  reader.read_choice("role", {"label", "feature"}, role);
  config.is_label_party = role == 0;
  reader.read("name", config.name);
  if (reader.has("name") && config.name.empty()) reader.problem("name", "must not be empty");
  path(reader, "manifest", config.manifest_file);
  reader.require("approved");
  reader.read("approved", config.approved);
  path(reader, "table", config.table_file);
  if (reader.has("model")) path(reader, "model", config.model_file);
  if (reader.has("bottom")) {
    JsonReader bottom = reader.object("bottom");
    BottomFiles& files = config.bottom.emplace();
    path(bottom, "model", files.model);
    path(bottom, "contract", files.contract);
    bottom.read("digest", files.digest);
    bottom.finish();
  }
  reader.read("id_column", config.id_column);
  path(reader, "out", config.out);
  reader.read("patience_ms", config.patience);
  if (config.patience < kPatienceMin || config.patience > kPatienceMax) {
    reader.problem("patience_ms", "must be from 1000 to 86400000");
  }
  // Keys of the other role, or of the other way to meet, are unknown: whoever has them means something else.
  if (reader.has("coordinator")) {
    read_coordinator(reader.object("coordinator"), folder, config);
    reader.read("resume_ms", config.resume);
    if (config.resume < Millis(0) || config.resume > kResumeMax) {
      reader.problem("resume_ms", "must be from 0 to 604800000");
    }
  } else {
    const char* const address_key = config.is_label_party ? "listen" : "connect";
    std::string address;
    reader.require(address_key);
    reader.read(address_key, address);
    if (!address.empty() && (!read_address(address, config) || (!config.is_label_party && config.port == 0))) {
      reader.problem(address_key, "must be HOST:PORT, is " + address);
    }
    if (config.is_label_party && reader.has("port_file")) path(reader, "port_file", config.port_file);
  }
  if (config.is_label_party) {
    reader.read("label_column", config.label_column);
    if (config.label_column.empty()) reader.problem("label_column", "must not be empty");
  } else {
    config.label_column.clear();
  }
  JsonReader tls = reader.object("tls");
  path(tls, "ca", config.tls.ca_file);
  path(tls, "certificate", config.tls.certificate_file);
  path(tls, "key", config.tls.key_file);
  // With a name of its own a party knows the others' by the manifest.
  if (config.name.empty()) {
    tls.require("peer_name");
    tls.read("peer_name", config.tls.peer_name);
    // OpenSSL takes an empty name for "any".
    if (config.tls.peer_name.empty()) tls.problem("peer_name", "must not be empty");
  }
  tls.finish();
  reader.finish();
  if (config.coordinator) {
    vertical::TlsIdentity& door = config.coordinator->tls;
    if (door.ca_file.empty()) door.ca_file = config.tls.ca_file;
    door.certificate_file = config.tls.certificate_file;
    door.key_file = config.tls.key_file;
  }
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  return config;
}

Result<PartyConfig> read_party_config(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kConfigBytesMax));
  Result<PartyConfig> config = parse_party_config(as_text(bytes), os::parent_directory(file));
  if (!config) return config.error().with_context(file);
  return config;
}

}  // namespace coterie
