#include "tools/doctor/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/config/server_config.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/doctor/judgements.h"
#include "tools/doctor/machine.h"
#include "tools/doctor/planes.h"

namespace coterie {
namespace {

constexpr uint64_t kConfigBytesMax = 1 << 20;
constexpr int kColumns = 80;
constexpr int kIndent = 9;  // the longest name of a health, and two blanks

// `words` in lines of a column of their own, the first of them behind `title`.
std::string beside(std::string_view title, const std::string& words) {
  std::string text(title);
  text.resize(kIndent, ' ');
  for (const char character : wrapped(printable(words), kColumns - kIndent, 0)) {
    text += character;
    if (character == '\n') text.append(kIndent, ' ');
  }
  return text + '\n';
}

nlohmann::json to_json(const Findings& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"health", to_string(finding.health)}, {"subject", finding.subject}, {"seen", finding.seen}});
    if (!finding.advice.empty()) list.back()["advice"] = finding.advice;
  }
  return {{"health", to_string(worst_of(findings))}, {"findings", std::move(list)}};
}

ExitCode tell(const Findings& findings, const AdminCommand& admin, ExitCode if_bad) {
  if (admin.wants_json()) {
    print_json(to_json(findings));
  } else {
    print_text(report_text(findings));
  }
  return worst_of(findings) == Health::bad ? if_bad : ExitCode::ok;
}

// The server that the connection names, elsewhere or here; its device plane is known by its endpoints file alone.
void look_at_server(const ConnectionOptions& connection, std::string_view version, Millis skew_max,
                    Findings& findings) {
  const Result<AdminEndpoint> endpoint = find_admin(connection);
  if (!endpoint) {
    findings.push_back({Health::bad, "connection", endpoint.error().message(), {}});
    return;
  }
  const Result<ServerEndpoints> files =
      connection.admin_url.empty() ? read_endpoints(connection.data_dir) : Error(ErrorCode::not_found, "");
  const Findings said = look_at_planes(files ? files->device_url : "", *endpoint, version, skew_max);
  findings.insert(findings.end(), said.begin(), said.end());
}

}  // namespace

std::string report_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += beside(to_string(finding.health), finding.subject + ": " + finding.seen);
    if (!finding.advice.empty()) text += beside("", "do: " + finding.advice);
  }
  const auto count = [&](Health health) {
    return static_cast<uint64_t>(std::ranges::count(findings, health, &Finding::health));
  };
  return text + "\n" + counted(count(Health::bad), "thing") + " bad, " + counted(count(Health::warning), "warning") +
         ".\n";
}

ExitCode run_doctor(const DoctorOptions& options, const AdminCommand& admin, std::string_view version) {
  ServerConfig config;
  Problems problems;
  if (!options.config_file.empty()) {
    const Result<Bytes> text = os::read_file(options.config_file, kConfigBytesMax);
    if (!text) {
      print_error("doctor", text.error());
      return ExitCode::usage;
    }
    config = server_config_from_json(as_text(*text), problems);
  }
  ConnectionOptions connection = admin.connection;
  if (!connection.admin_url.empty()) {
    Findings findings;  // of another machine the planes alone can be seen
    look_at_server(connection, version, config.clock_skew_max, findings);
    return tell(findings, admin, ExitCode::failure);
  }
  if (!connection.data_dir.empty()) config.data_dir = connection.data_dir;
  connection.data_dir = config.data_dir;

  Findings findings = judge_configuration(options.config_file, problems);
  if (!problems.empty()) return tell(findings, admin, ExitCode::config);
  const bool is_running = os::exists(config.data_dir + "/endpoints.json");
  const Findings machine = look_at_machine(config, is_running, os::wall_now());
  findings.insert(findings.end(), machine.begin(), machine.end());
  if (is_running) look_at_server(connection, version, config.clock_skew_max, findings);
  return tell(findings, admin, ExitCode::failure);
}

}  // namespace coterie
