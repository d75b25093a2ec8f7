#include "tools/cli/device_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/server_alarms.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

// How a device would use the token. Where devices connect to, only a server on this machine tells; a scheduler of a
// fleet talks to no device, but knows whom they trust.
std::string device_command(const ConnectionOptions& connection, const std::string& token) {
  std::string server = " --server https://SERVER:8443";
  if (connection.admin_url.empty()) {
    const auto endpoints = read_endpoints(connection.data_dir.empty() ? kDefaultDataDir : connection.data_dir);
    if (endpoints && !endpoints->device_url.empty()) server = " --server " + endpoints->device_url;
    if (endpoints && !endpoints->ca_file.empty()) server += " --ca " + shell_word(endpoints->ca_file);
  }
  return "coterie device run" + server + " --state-dir DIR --data FILE --token " + token;
}

}  // namespace

ExitCode list_devices(const AdminCommand& command, const DeviceListOptions& options) {
  return with_admin(command, "device list", [&](AdminClient& admin) -> Status {
    std::string target = "devices?limit=" + std::to_string(options.limit);
    if (!options.after.empty()) target += "&after=" + path_segment(options.after);
    if (!options.population.empty()) target += "&population=" + path_segment(options.population);
    if (options.revoked) target += "&revoked=true";
    COT_ASSIGN(const nlohmann::json answer, admin.get(target));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"DEVICE"}, {"POPULATION"}, {"KEY"}, {"SDK"}, {"ENROLLED"}, {"REVOKED"}});
    for (const nlohmann::json& device : answer.value("devices", nlohmann::json::array())) {
      table.add({cell_of(device, "/id"), cell_of(device, "/population"), cell_of(device, "/key_algorithm"),
                 cell_of(device, "/sdk_version"), short_time(cell_of(device, "/enrolled")),
                 short_time(cell_of(device, "/revoked"))});
    }
    print_text(table.empty() ? "no devices; let them in with `" + next_command(command, "token create") + "`\n"
                             : table.text());
    if (answer.contains("next_after")) {
      print_text("... of " + cell_of(answer, "/total") + " in all; go on with --after " +
                 printable(cell_of(answer, "/next_after")) + "\n");
    }
    return {};
  });
}

ExitCode revoke_device(const AdminCommand& command, const std::string& device) {
  return with_admin(command, "device revoke", [&](AdminClient& admin) -> Status {
    const Result<nlohmann::json> answer = admin.post("devices/" + path_segment(device) + ":revoke");
    if (!answer) return answer.error().with_context("device " + printable(device));
    if (command.wants_json()) {
      print_json(*answer);
    } else {
      print_text("device " + printable(cell_of(*answer, "/id")) + " is revoked; its updates are refused from now on\n");
    }
    return {};
  });
}

ExitCode create_token(const AdminCommand& command, const NewToken& options) {
  return with_admin(command, "token create", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer,
               admin.post("enrollment-tokens", {{"uses", options.uses},
                                                {"population", options.population},
                                                {"label", options.label},
                                                {"valid_seconds", uint64_t{options.valid_hours} * 3600}}));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    const std::string token = printable(cell_of(answer, "/token"));
    print_text(token + "\n");
    // Beside the token, which may be read by a script, everything else goes to standard error.
    std::fprintf(stderr, "Good for %s until %s. It is shown this once.\nNext, on a device:\n  %s\n",
                 counted(options.uses, "device").c_str(), short_time(cell_of(answer, "/expires")).c_str(),
                 device_command(command.connection, token).c_str());
    return {};
  });
}

ExitCode list_tokens(const AdminCommand& command) {
  return with_admin(command, "token list", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get_pages("enrollment-tokens", "tokens"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"TOKEN"}, {"POPULATION"}, {"LABEL"}, {"USES LEFT", Table::Align::right}, {"EXPIRES"}});
    for (const nlohmann::json& token : answer.value("tokens", nlohmann::json::array())) {
      table.add({cell_of(token, "/id"), cell_of(token, "/population"), cell_of(token, "/label"),
                 cell_of(token, "/uses_left"), short_time(cell_of(token, "/expires"))});
    }
    print_text(table.empty() ? "no tokens; create one with `" + next_command(command, "token create") + "`\n"
                             : table.text());
    return {};
  });
}

ExitCode remove_token(const AdminCommand& command, const std::string& token) {
  return with_admin(command, "token remove", [&](AdminClient& admin) -> Status {
    COT_TRY(admin.remove("enrollment-tokens/" + path_segment(token)));
    print_text("token " + printable(token) + " is removed\n");
    return {};
  });
}

ExitCode show_server(const AdminCommand& command) {
  return with_admin(command, "server status", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("server"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    uint64_t waiting = 0;
    const nlohmann::json populations = answer.value("devices_waiting", nlohmann::json::object());
    for (const nlohmann::json& count : populations) waiting += count.get<uint64_t>();
    print_text("Coterie " + printable(cell_of(answer, "/version")) + ", up " +
               format_seconds(answer.value("uptime_seconds", 0.0)) +
               (answer.value("ready", false) ? "" : ", not ready") + "\n" +
               counted(answer.value("devices", uint64_t{0}), "device") + " enrolled, " + std::to_string(waiting) +
               " waiting\n" + alarms_text(answer));
    Table table({{"JOB"},
                 {"ROUND", Table::Align::right},
                 {"ATTEMPT", Table::Align::right},
                 {"STATE"},
                 {"SELECTED", Table::Align::right},
                 {"ACCEPTED", Table::Align::right}});
    for (const nlohmann::json& job : answer.value("jobs", nlohmann::json::array())) {
      table.add({cell_of(job, "/job"), cell_of(job, "/round"), cell_of(job, "/attempt"), cell_of(job, "/state"),
                 cell_of(job, "/selected"), cell_of(job, "/accepted")});
    }
    if (!table.empty()) print_text("\n" + table.text());
    Table quotas({{"TENANT"}, {"QUOTA"}, {"USED", Table::Align::right}, {"MAX", Table::Align::right}});
    const nlohmann::json tenants = answer.value("quotas", nlohmann::json::object());
    for (const auto& [tenant, of] : tenants.items()) {
      for (const auto& [quota, use] : of.items()) {
        if (use.value("used", uint64_t{0}) == 0) continue;  // JSON output has these, too
        quotas.add({printable(tenant), printable(quota), cell_of(use, "/used"), cell_of(use, "/max")});
      }
    }
    if (!quotas.empty()) print_text("\n" + quotas.text());
    Table kept({{"KEPT"}, {"ROWS", Table::Align::right}, {"BYTES", Table::Align::right}});
    const nlohmann::json store = answer.value("store", nlohmann::json::object());
    for (const auto& [kind, of] : store.items())
      kept.add({printable(kind), cell_of(of, "/rows"), cell_of(of, "/bytes")});
    if (!kept.empty()) print_text("\n" + kept.text());
    print_text(refusals_text(answer));
    return {};
  });
}

}  // namespace coterie
