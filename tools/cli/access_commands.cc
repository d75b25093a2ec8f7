#include "tools/cli/access_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr uint64_t kSecondsPerDay = 86'400;

std::string roles_of(const nlohmann::json& token) {
  std::string text;
  for (const nlohmann::json& role : token.value("roles", nlohmann::json::array())) {
    text += (text.empty() ? "" : ",") + role.get<std::string>();
  }
  return text;
}

}  // namespace

ExitCode create_admin_token(const AdminCommand& command, const NewAdminTokenOptions& options) {
  return with_admin(command, "admin-token create", [&](AdminClient& admin) -> Status {
    nlohmann::json request = {
        {"label", options.label}, {"roles", options.roles}, {"valid_seconds", options.valid_days * kSecondsPerDay}};
    if (!options.tenant.empty()) request["tenant"] = options.tenant;
    COT_ASSIGN(const nlohmann::json answer, admin.post("tokens", request));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    print_text(printable(cell_of(answer, "/token")) + "\n");
    std::fprintf(stderr,
                 "Token %s may what %s may, until %s. It is shown this once.\nIn a file of its owner's: "
                 "coterie --token-file FILE ...\n",
                 printable(cell_of(answer, "/id")).c_str(), printable(roles_of(answer)).c_str(),
                 short_time(cell_of(answer, "/expires")).c_str());
    return {};
  });
}

ExitCode list_admin_tokens(const AdminCommand& command) {
  return with_admin(command, "admin-token list", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get_pages("tokens", "tokens"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"TOKEN"}, {"LABEL"}, {"ROLES"}, {"CREATED BY"}, {"CREATED"}, {"EXPIRES"}});
    for (const nlohmann::json& token : answer.value("tokens", nlohmann::json::array())) {
      table.add({cell_of(token, "/id"), cell_of(token, "/label"), roles_of(token), cell_of(token, "/created_by"),
                 short_time(cell_of(token, "/created")), short_time(cell_of(token, "/expires"))});
    }
    print_text(table.empty() ? "no named tokens; make one with `" + next_command(command, "admin-token create") + "`\n"
                             : table.text());
    return {};
  });
}

ExitCode remove_admin_token(const AdminCommand& command, const std::string& token) {
  return with_admin(command, "admin-token remove", [&](AdminClient& admin) -> Status {
    COT_TRY(admin.remove("tokens/" + path_segment(token)));
    print_text("admin token " + printable(token) + " has ended\n");
    return {};
  });
}

}  // namespace coterie
