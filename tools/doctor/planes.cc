#include "tools/doctor/planes.h"

#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "device_sdk/transport/https_client.h"
#include "fl_server/json/rfc3339.h"
#include "tools/admin/admin_client.h"
#include "tools/cli/table.h"
#include "tools/doctor/judgements.h"

namespace coterie {
namespace {

constexpr int kOk = 200;

// Over the device's own transport: name, port, TLS and the server's certificate are all that a device needs.
Finding look_as_device(const std::string& url, const std::string& ca_pem) {
  const auto health = [&]() -> Result<int> {
    COT_ASSIGN(const std::unique_ptr<HttpsClient> client, HttpsClient::make({.url = url, .ca_pem = ca_pem}));
    const TransportRequest request{
        .method = "GET", .target = "/healthz", .headers = {}, .content_type = {}, .body = {}};
    COT_ASSIGN(const TransportResponse answer, client->send(request, [](const auto&, ByteView) { return Status(); }));
    return answer.status;
  };
  const Result<int> status = health();
  if (!status) {
    return {Health::bad, "device plane", url + ": " + status.error().message(),
            "see that the server runs, that the address can be reached from here, and that --ca is its authority"};
  }
  if (*status == kOk) return {Health::good, "device plane", url + " answers a device", {}};
  return {Health::bad, "device plane", url + " answers with status " + std::to_string(*status),
          "read the server's log: it is up, and cannot serve"};
}

void look_as_operator(const AdminEndpoint& admin, std::string_view version, Millis skew_max, Findings& findings) {
  const auto ask = [&]() -> Result<nlohmann::json> {
    COT_ASSIGN(const std::unique_ptr<AdminClient> client, AdminClient::make(admin, nullptr));
    return client->get("server");
  };
  const Result<nlohmann::json> server = ask();
  if (!server) {
    findings.push_back({Health::bad, "admin plane", admin.url + ": " + server.error().message(),
                        "see that the server runs, and that --ca and --token-file are its own"});
    return;
  }
  const bool is_ready = server->value("ready", false);
  findings.push_back({is_ready ? Health::good : Health::bad, "admin plane",
                      admin.url + (is_ready ? " answers, and is ready" : " answers, and is not ready"),
                      is_ready ? "" : "read the server's log: /healthz says 503 until it is"});
  findings.push_back(judge_version(server->value("version", ""), version));
  // What the server says of its start and its age adds up to its clock.
  const std::optional<WallTime> started = parse_rfc3339(server->value("started", ""));
  if (started) {
    const Millis uptime{static_cast<int64_t>(server->value("uptime_seconds", 0.0) * 1000)};
    findings.push_back(judge_server_clock(*started + uptime, os::wall_now(), skew_max));
  }
  const bool leads = server->value("leads", true);
  findings.push_back({Health::good,
                      "work",
                      counted(server->value("devices", uint64_t{0}), "device") + " enrolled, " +
                          counted(server->contains("jobs") ? (*server)["jobs"].size() : 0, "job") + " under way" +
                          (leads ? "" : "; another server of the fleet leads"),
                      {}});
}

}  // namespace

Findings look_at_planes(const std::string& device_url, const AdminEndpoint& admin, std::string_view version,
                        Millis skew_max) {
  Findings findings;
  if (!device_url.empty()) findings.push_back(look_as_device(device_url, admin.ca_pem));
  look_as_operator(admin, version, skew_max, findings);
  return findings;
}

}  // namespace coterie
