#include "tools/vertical/party_config.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

constexpr uint64_t kConfigBytesMax = 1 << 16;
constexpr Millis kPatienceMin{1'000};
constexpr Millis kPatienceMax{86'400'000};

// "host:port"; an IPv6 address in brackets.
bool read_address(const std::string& text, PartyConfig& config) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  config.host = text.substr(0, colon);
  if (config.host.front() == '[' && config.host.back() == ']') config.host = config.host.substr(1, colon - 2);
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, config.port);
  return error == std::errc() && stopped == end && !config.host.empty();
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
  path(reader, "manifest", config.manifest_file);
  reader.require("approved");
  reader.read("approved", config.approved);
  path(reader, "table", config.table_file);
  reader.read("id_column", config.id_column);
  path(reader, "out", config.out);
  reader.read("patience_ms", config.patience);
  if (config.patience < kPatienceMin || config.patience > kPatienceMax) {
    reader.problem("patience_ms", "must be from 1000 to 86400000");
  }
  // Keys of the other role are unknown: whoever has them means something else.
  const char* const address_key = config.is_label_party ? "listen" : "connect";
  std::string address;
  reader.require(address_key);
  reader.read(address_key, address);
  if (!address.empty() && (!read_address(address, config) || (!config.is_label_party && config.port == 0))) {
    reader.problem(address_key, "must be HOST:PORT, is " + address);
  }
  if (config.is_label_party) {
    reader.read("label_column", config.label_column);
    if (config.label_column.empty()) reader.problem("label_column", "must not be empty");
    if (reader.has("port_file")) path(reader, "port_file", config.port_file);
  } else {
    config.label_column.clear();
  }
  JsonReader tls = reader.object("tls");
  path(tls, "ca", config.tls.ca_file);
  path(tls, "certificate", config.tls.certificate_file);
  path(tls, "key", config.tls.key_file);
  tls.require("peer_name");
  tls.read("peer_name", config.tls.peer_name);
  // OpenSSL takes an empty name for "any".
  if (config.tls.peer_name.empty()) tls.problem("peer_name", "must not be empty");
  tls.finish();
  reader.finish();
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
